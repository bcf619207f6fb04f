import { duration } from '../../parts/duration.ts';
import { usd, wholeNumber } from '../../parts/numbers.ts';

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const oneDecimal = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const percents = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });

const MICRO = 1e6;
const SHORT_BELOW = 10_000;

/** `4,210`; `1.2M` where the exact number says no more. */
export const shortNumber = (value: number): string =>
  Math.abs(value) < SHORT_BELOW ? wholeNumber(value) : compact.format(value);

/** `0.4%` */
export const percent = (share: number): string => percents.format(share);

/** Micro-dollars as US dollars; null: there is no price. */
export const cost = (microUsd: number | null): string =>
  microUsd === null ? 'no price' : usd(microUsd / MICRO);

/** `412 ms`, `4.2 s`, `2 min 5 s` */
export function milliseconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${oneDecimal.format(ms / 1000)} s` : duration(Math.round(ms / 1000));
}
