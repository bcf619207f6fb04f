import { z } from 'zod';

const Row = z.record(z.string(), z.unknown());
export type Row = z.infer<typeof Row>;
export const Rows = z.array(Row);

/** The columns of a table by their headings: a member of each row, or what is made of the row. */
export type Columns = Readonly<Record<string, string | ((row: Row, nowMs: number) => unknown)>>;

/** How the answer of a command is printed. */
export type Text = (answer: unknown, nowMs: number) => string;

/** A table of the answer's items; `empty` where there are none. */
export const listOf =
  (columns: Columns, empty: string): Text =>
  (answer, nowMs) => {
    const rows = Rows.parse(answer);
    return rows.length === 0 ? empty : table(columns, rows, nowMs);
  };

/** The answer's members, below them a table for each member that is named here (`none` for one without rows), and its warnings. */
export const detailsOf =
  (tables: Readonly<Record<string, Columns>> = {}, none?: string): Text =>
  (answer, nowMs) => {
    const { warnings, ...row } = Row.parse(answer);
    const lists = Object.entries(tables).flatMap(([member, columns]) => {
      const rows = Rows.parse(row[member]);
      return rows.length === 0 ? (none ?? []) : table(columns, rows, nowMs);
    });
    const members = Object.entries(row).filter(([name]) => !Object.hasOwn(tables, name));
    return [memberTable(Object.fromEntries(members)), ...lists].join('\n\n') + warningText(warnings);
  };

/** What a sentence says of the answer. */
export const sentenceOf =
  (say: (answer: Row) => string): Text =>
  (answer) =>
    say(Row.parse(answer));

/** What the service warns of, a line each. */
export const warningText = (warnings: unknown): string =>
  Warnings.parse(warnings)
    .map((warning) => `\nWarning: ${warning}`)
    .join('');
const Warnings = z.array(z.string()).default([]);

/** Lines of columns, as wide as their widest cell. */
export function table(columns: Columns, rows: readonly Row[], nowMs: number): string {
  const lines = rows.map((row) =>
    Object.values(columns).map((cell) => cellText(typeof cell === 'string' ? row[cell] : cell(row, nowMs))),
  );
  const all = [Object.keys(columns), ...lines];
  const widths = all[0]?.map((_, at) => Math.max(...all.map((cells) => cells[at]?.length ?? 0))) ?? [];
  const lineOf = (cells: readonly string[]) => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0));
  return all.map((cells) => lineOf(cells).join('  ').trimEnd()).join('\n');
}

const MEMBER_COLUMNS = 14;

/** `name  value` for each member; what is nested is written as `a=1, b=2`. */
export function memberTable(members: Row): string {
  const columns = Math.max(MEMBER_COLUMNS, ...Object.keys(members).map(({ length }) => length));
  return Object.entries(members)
    .map(([name, value]) => `${name.padEnd(columns)}  ${cellText(value)}`.trimEnd())
    .join('\n');
}

export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value)) return value.map(cellText).join(', ') || '-';
  if (typeof value !== 'object') return String(value);
  return (
    Object.entries(value)
      .map(([name, inner]) => `${name}=${cellText(inner)}`)
      .join(', ') || '-'
  );
}

const MICRO_PER_USD = 1e6;

export const usdText = (microUsd: unknown): string =>
  typeof microUsd === 'number' ? `$${(microUsd / MICRO_PER_USD).toFixed(6)}` : 'unpriced';
