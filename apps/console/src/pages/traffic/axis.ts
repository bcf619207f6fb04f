/** The first digits of a distance between two ticks that people count in. */
const STEPS = [1, 2, 2.5, 5, 10] as const;
/** Distances above ten seconds, in milliseconds: a minute has no ten parts. */
const LONG_STEPS_MS = [15, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600].map((seconds) => seconds * 1000);
const MAX_STEPS = 4;

export type AxisUnit = 'usd' | 'count' | 'ms';

/** The values at which an axis has its lines: evenly from 0 to the first that is not below `max`, at most five. */
export function ticksUpTo(max: number, unit: AxisUnit): number[] {
  const step = stepFor(max / MAX_STEPS, unit);
  const count = Math.max(1, Math.ceil(rounded(max / step)));
  return Array.from({ length: count + 1 }, (_, at) => rounded(at * step));
}

function stepFor(least: number, unit: AxisUnit): number {
  if (least <= 0) return 1;
  const long = unit === 'ms' && least > 10_000 ? LONG_STEPS_MS.find((one) => one >= least) : undefined;
  if (long !== undefined) return long;
  const power = 10 ** Math.floor(Math.log10(least));
  const steps = STEPS.map((first) => rounded(first * power));
  const fitting = steps.find((one) => one >= least && (unit === 'usd' || Number.isInteger(one)));
  return fitting ?? Math.max(1, Math.ceil(least));
}

/** Without what binary fractions add: 0.30000000000000004. */
const rounded = (value: number): number => Number(value.toPrecision(12));
