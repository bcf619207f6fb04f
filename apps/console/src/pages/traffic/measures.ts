import type { UsageRow } from '../../api/types.ts';
import { milliseconds, shortNumber, usd, wholeNumber } from '../../parts/numbers.ts';

export interface Measure {
  readonly label: string;
  /** Null: it was not measured. */
  readonly of: (row: UsageRow) => number | null;
  readonly format: (value: number) => string;
  /** Whether values of several rows can be added up; percentiles cannot. */
  readonly isSum: boolean;
}

const sum = (
  label: string,
  of: (row: UsageRow) => number,
  format: (value: number) => string = shortNumber,
): Measure => ({ label, of, format, isSum: true });

const latency = (label: string, of: Measure['of']): Measure => ({
  label,
  of,
  format: milliseconds,
  isSum: false,
});

/** What is drawn over time, and what tables are sorted by. */
export const MEASURES = {
  spend: sum('Spend', ({ costMicroUsd }) => costMicroUsd / 1e6, usd),
  requests: sum('Requests', ({ requests }) => requests),
  errors: sum('Errors', ({ failed }) => failed),
  refused: sum('Refused', ({ refused }) => refused),
  tokens: sum('Tokens', ({ inputTokens, outputTokens }) => inputTokens + outputTokens),
  images: sum('Images', ({ images }) => images),
  characters: sum('Characters spoken', ({ characters }) => characters),
  audio: sum('Seconds of audio', ({ audioSeconds }) => audioSeconds, wholeNumber),
  firstOutputP50: latency('First output, p50', ({ firstOutputMs }) => firstOutputMs.p50),
  firstOutputP95: latency('First output, p95', ({ firstOutputMs }) => firstOutputMs.p95),
  totalP50: latency('Total time, p50', ({ totalMs }) => totalMs.p50),
  totalP95: latency('Total time, p95', ({ totalMs }) => totalMs.p95),
} as const satisfies Record<string, Measure>;
export type MeasureName = keyof typeof MEASURES;
