import { type Goal, holdGoals } from './goals.ts';
import type { Figure, Figures, Row } from './row.ts';
import { table } from './table.ts';

const digits = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);

const overPortkey = (figure: Figure, figures: Figures): string => {
  const base = figures.get('portkey');
  return base === undefined ? '' : digits(figure.value / base.value);
};

/** What is less than a hundredth of the whole is left out. */
const partsText = ({ parts, value: whole }: Figure): string =>
  [...(parts ?? [])]
    .filter(([, value]) => value >= Math.max(whole / 100, 0.005))
    .map(([name, value]) => `${name} ${digits(value)}`)
    .join(', ');

/** One row, contender by contender, and where its cost lies. */
export function rowText({ what, unit }: Row, figures: Figures): string {
  const lines = [...figures].map(([name, figure]) => [
    name,
    digits(figure.value),
    overPortkey(figure, figures),
    partsText(figure),
    figure.note ?? '',
  ]);
  return `${what}\n${table([['', unit, '× portkey', 'by process', ''], ...lines])}`;
}

/** Everything that was measured in one table: ratios to Portkey where it does the same, else the figure. */
export function measuredText(rows: readonly Row[], measured: ReadonlyMap<string, Figures>): string {
  const names = [...new Set([...measured.values()].flatMap((figures) => [...figures.keys()]))];
  const lines = rows.flatMap(({ id, what, unit }) => {
    const figures = measured.get(id);
    if (figures === undefined) return [];
    const cells = names.map((name) => {
      const figure = figures.get(name);
      if (figure === undefined) return '–';
      const plain = `${digits(figure.value)} ${unit}`;
      return name === 'portkey' || !figures.has('portkey')
        ? plain
        : `${overPortkey(figure, figures)} (${plain})`;
    });
    return [[what, ...cells]];
  });
  return table([['measured, × portkey', ...names], ...lines]);
}

/** Each goal, what was measured, and whether it is met. */
export function goalsText(
  rows: readonly Row[],
  goals: readonly Goal[],
  measured: ReadonlyMap<string, Figures>,
): string {
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  const lines = holdGoals(goals, measured).map(({ goal, measured: value, met }) => {
    const row = rowOf.get(goal.row);
    const base = goal.over === 'itself' ? 'not stored' : goal.over === 'http' ? 'over HTTP' : goal.over;
    const unit = base === null ? (row?.unit ?? '') : `× ${base}`;
    const bound = goal.atMost === undefined ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`;
    const way = goal.way === 'one' ? 'one process' : 'a process each';
    const what = `${row?.what ?? goal.row}${goal.limits ? ', limits' : ''} (${way})`;
    return [what, `${digits(value)} ${unit}`, `${bound} ${unit}`, met ? 'met' : 'MISSED'];
  });
  return table([['goals', 'measured', 'goal', ''], ...lines]);
}
