import type { UsageRow } from '../../api/types.ts';
import { duration, milliseconds, price, shortNumber, usd, wholeNumber } from '../../parts/numbers.ts';
import type { AxisUnit } from './axis.ts';
import type { RequestFilter } from './request-filter.ts';

export interface Measure {
  readonly label: string;
  /** Null: it was not measured. */
  readonly of: (row: UsageRow) => number | null;
  readonly format: (value: number) => string;
  readonly unit: AxisUnit;
  /** Whether values of several rows can be added up; percentiles cannot. */
  readonly isSum: boolean;
  /** The requests behind a value, among those of its time and group. Null: they have no records. */
  readonly behind: ((value: number) => RequestFilter) | null;
}

const ALL_REQUESTS = (): RequestFilter => ({});

const sum = (
  label: string,
  of: (row: UsageRow) => number,
  { format = shortNumber, unit = 'count', behind = ALL_REQUESTS }: Partial<Measure> = {},
): Measure => ({ label, of, format, unit, isSum: true, behind });

/** Behind a percentile are the requests that took longer. */
const latency = (label: string, of: Measure['of'], by: 'minTotalMs' | 'minFirstOutputMs'): Measure => ({
  ...{ label, of, format: milliseconds, unit: 'ms', isSum: false },
  behind: (value) => ({ [by]: Math.floor(value), outcome: 'ok' }),
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
  errors: sum('Errors', ({ failed }) => failed, { behind: () => ({ failed: true }) }),
  refused: sum('Refused', ({ refused }) => refused ?? 0, { behind: null }),
  tokens: sum('Tokens', ({ inputTokens, outputTokens }) => inputTokens + outputTokens),
  images: sum('Images', ({ images }) => images),
  characters: sum('Characters spoken', ({ characters }) => characters),
  audio: sum('Seconds of audio', ({ audioSeconds }) => audioSeconds, { format: wholeNumber, unit: 'count' }),
  firstOutputP50: latency('First output, p50', ({ firstOutputMs }) => firstOutputMs.p50, 'minFirstOutputMs'),
  firstOutputP95: latency('First output, p95', ({ firstOutputMs }) => firstOutputMs.p95, 'minFirstOutputMs'),
  totalP50: latency('Total time, p50', ({ totalMs }) => totalMs.p50, 'minTotalMs'),
  totalP95: latency('Total time, p95', ({ totalMs }) => totalMs.p95, 'minTotalMs'),
} as const satisfies Record<string, Measure>;
export type MeasureName = keyof typeof MEASURES;
