import type { UsageRow } from '../../api/types.ts';
import { timeZone, wallTime } from '../../parts/time-zone.ts';
import { COLORS, colorsOf } from './colors.ts';
import type { Measure } from './measures.ts';
import { type Bucket, bucketsOf, type Span } from './time-range.ts';

export interface Series {
  /** The member of each point that holds its values: names of models have dots, which charts take for paths. */
  readonly id: string;
  readonly label: string;
  readonly color: string;
  /** Of what is grouped by; absent: it stands for several, or for everything. */
  readonly value?: string;
}

/** Values of each series at one minute, hour or day; null: nothing was measured. */
export interface Point {
  /** As usage names it. */
  readonly at: string;
  readonly values: Readonly<Record<string, number | null>>;
}

export interface Drawn {
  readonly span: Span;
  readonly measure: Measure;
  readonly series: readonly Series[];
  readonly points: readonly Point[];
}

/** Series of their own in one chart. */
const MAX_SERIES = 6;
const OTHERS = { label: 'All others', color: 'gray.5' } as const;

interface DrawOptions {
  readonly span: Span;
  /** Grouped by what the span is drawn by, and by `group`. */
  readonly rows: readonly UsageRow[];
  readonly measure: Measure;
  /** What each series is of; null: everything is one series. */
  readonly group: ((row: UsageRow) => string) | null;
  readonly labelOf: (value: string) => string;
  /** By what the groups are ranked that have a series of their own, so that charts beside each other have the same. */
  readonly rankOf: (row: UsageRow) => number;
}

/** A measure over time. The groups with the most have a series of their own; what can be added up of the others is one more. */
export function draw({ span, rows, measure, group, labelOf, rankOf }: DrawOptions): Drawn {
  const groupOf = group ?? (() => '');
  const ranks = new Map<string, number>();
  for (const row of rows) ranks.set(groupOf(row), (ranks.get(groupOf(row)) ?? 0) + rankOf(row));
  const ranked = [...ranks]
    .filter(([, rank]) => rank > 0)
    .toSorted(([, a], [, b]) => b - a)
    .map(([value]) => value);
  const shown = new Map(ranked.slice(0, MAX_SERIES).map((value, at) => [value, `s${at}`]));
  const colors = colorsOf([...shown.keys()]);
  const series: Series[] = [...shown].map(([value, id], at) => ({
    id,
    label: group === null ? measure.label : labelOf(value),
    color: colors[at] ?? OTHERS.color,
    ...(group !== null && { value }),
  }));
  if (measure.isSum && ranked.length > shown.size) series.push({ id: 'others', ...OTHERS });

  const byTime = Map.groupBy(rows, (row) => row[span.bucket] ?? '');
  const points = bucketsOf(span).map((at) => {
    const values: Record<string, number | null> = Object.fromEntries(
      series.map(({ id }) => [id, measure.isSum ? 0 : null]),
    );
    for (const row of byTime.get(at) ?? []) {
      const id = shown.get(groupOf(row)) ?? 'others';
      const value = measure.of(row);
      if (id in values && value !== null) values[id] = (values[id] ?? 0) + value;
    }
    return { at, values };
  });
  return { span, measure, series, points };
}

type Measured = Measure & { readonly short: string };

/** Several measures of everything, side by side. */
export function drawTogether(
  span: Span,
  rows: readonly UsageRow[],
  measures: readonly [Measured, ...Measured[]],
): Drawn {
  const drawn = measures.map((measure, at) => ({
    id: `s${at}`,
    label: measure.short,
    color: COLORS[at] ?? OTHERS.color,
    measure,
  }));
  const byTime = new Map(rows.map((row) => [row[span.bucket] ?? '', row]));
  const points = bucketsOf(span).map((at) => {
    const row = byTime.get(at);
    return {
      at,
      values: Object.fromEntries(
        drawn.map(({ id, measure }) => [id, row === undefined ? null : measure.of(row)]),
      ),
    };
  });
  return { span, measure: measures[0], series: drawn.map(({ measure: _, ...series }) => series), points };
}

const BUCKET_NAMES: Readonly<Record<Bucket, string>> = {
  minute: 'minute',
  fiveMinutes: 'five minutes',
  hour: 'hour',
  day: 'day',
};

/** What a chart shows, in a sentence. */
export function summaryOf({ span, measure, series, points }: Drawn): string {
  const at = (point: Point): number =>
    Object.values(point.values).reduce<number>((all, value) => all + (value ?? 0), 0);
  const highest = points.reduce<Point | undefined>(
    (most, point) => (most === undefined || at(point) > at(most) ? point : most),
    undefined,
  );
  if (highest === undefined || at(highest) === 0) return 'No data in this period.';
  if (!measure.isSum)
    return `By ${BUCKET_NAMES[span.bucket]}, for ${series.map(({ label }) => label).join(', ')}.`;
  const all = points.reduce((sum, point) => sum + at(point), 0);
  const most = `peak ${measure.format(at(highest))} at ${timeLabel(highest.at)}`;
  return `By ${BUCKET_NAMES[span.bucket]}: ${measure.format(all)} in total, ${most}.`;
}

const DATE_LENGTH = 'YYYY-MM-DD'.length;
/** Of dates, which are of no zone. */
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** A day, or the beginning of an hour or minutes of usage, in the zone that is shown: `23 Nov`, `23 Nov 14:00`. */
export function timeLabel(at: string): string {
  if (at.length <= DATE_LENGTH) return day.format(new Date(at));
  const wall = wallTime(Date.parse(at), timeZone());
  return `${day.format(new Date(`${wall}Z`))} ${wall.slice(DATE_LENGTH + 1)}`;
}
