const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Before each attempt after the first one: a day together. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  8 * HOUR_MS,
  8 * HOUR_MS,
];

/** Spreads the attempts, so that a receiver that was away does not get all its webhooks at once. */
const JITTER = 0.1;

/** @param attempt how many attempts have failed */
export function retryDelayMs(attempt: number, delays: readonly number[], random: () => number): number {
  const delayMs = delays[Math.min(attempt, delays.length) - 1] ?? 0;
  return Math.round(delayMs * (1 + JITTER * random()));
}
