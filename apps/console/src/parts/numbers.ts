const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const wholeNumber = (value: number): string => whole.format(value);

/** A price in US dollars, exact: `$1.25`, `$0.125`. */
export const price = (value: number): string => money(value, 6);

/** US dollars with as many decimals as a small sum needs: `$12.50`, `$0.0004`. */
export function usd(value: number): string {
  return money(value, value !== 0 && Math.abs(value) < 0.01 ? 6 : 2);
}

function money(value: number, decimals: number): string {
  return new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: Number.isInteger(value) ? 0 : 2,
    maximumFractionDigits: decimals,
  }).format(value);
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** Seconds for people, by the two largest units: `1 h 5 min`, `40 s`. */
export function duration(seconds: number): string {
  let rest = Math.ceil(seconds);
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).join(' ') || '0 s';
}

/** `1 failure`, `25 failures` */
export const counted = (count: number, noun: string): string =>
  `${wholeNumber(count)} ${noun}${count === 1 ? '' : 's'}`;

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
