import type { UsageRow } from '../../api/types.ts';
import { duration, milliseconds, price, shortNumber, usd, wholeNumber } from '../../parts/numbers.ts';
import type { AxisUnit } from './axis.ts';

export interface Measure {
  readonly label: string;
  /** Null: it was not measured. */
  readonly of: (row: UsageRow) => number | null;
  readonly format: (value: number) => string;
  readonly unit: AxisUnit;
  /** Whether values of several rows can be added up; percentiles cannot. */
  readonly isSum: boolean;
}

const sum = (
  label: string,
  of: (row: UsageRow) => number,
  { format, unit }: Pick<Measure, 'format' | 'unit'> = { format: shortNumber, unit: 'count' },
): Measure => ({ label, of, format, unit, isSum: true });

const latency = (label: string, of: Measure['of']): Measure => ({
  label,
  of,
  format: milliseconds,
  unit: 'ms',
  isSum: false,
});

const exact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 3 });
const seconds = new Intl.NumberFormat('en', { maximumFractionDigits: 3 });
const MINUTE_MS = 60_000;

/** A value on an axis, exact: two lines never have the same text. */
export const AXIS_TEXT: Readonly<Record<AxisUnit, (value: number) => string>> = {
  usd: price,
  count: (value) => exact.format(value),
  ms: (value) => {
    if (value < 1000) return `${value} ms`;
    return value < MINUTE_MS ? `${seconds.format(value / 1000)} s` : duration(value / 1000);
  },
};

/** What is drawn over time, and what tables are sorted by. */
export const MEASURES = {
  spend: sum('Spend', ({ costMicroUsd }) => costMicroUsd / 1e6, { format: usd, unit: 'usd' }),
  requests: sum('Requests', ({ requests }) => requests),
  errors: sum('Errors', ({ failed }) => failed),
  refused: sum('Refused', ({ refused }) => refused ?? 0),
  tokens: sum('Tokens', ({ inputTokens, outputTokens }) => inputTokens + outputTokens),
  images: sum('Images', ({ images }) => images),
  characters: sum('Characters spoken', ({ characters }) => characters),
  audio: sum('Seconds of audio', ({ audioSeconds }) => audioSeconds, { format: wholeNumber, unit: 'count' }),
  firstOutputP50: latency('First output, p50', ({ firstOutputMs }) => firstOutputMs.p50),
  firstOutputP95: latency('First output, p95', ({ firstOutputMs }) => firstOutputMs.p95),
  totalP50: latency('Total time, p50', ({ totalMs }) => totalMs.p50),
  totalP95: latency('Total time, p95', ({ totalMs }) => totalMs.p95),
} as const satisfies Record<string, Measure>;
export type MeasureName = keyof typeof MEASURES;
