import type { IncomingHttpHeaders } from 'node:http';
import type { ProviderError } from './provider-error.ts';

const MAX_WAIT_SECONDS = 86_400;
const UNIT_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };

const bounded = (seconds: number): number | null =>
  Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, MAX_WAIT_SECONDS) : null;

const headerText = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

/** Seconds of `1.898s`, `120ms`, `6m0s`, `20 seconds`; null: not a duration. */
export const durationSeconds = (text: string): number | null => {
  let seconds = 0;
  let seen = false;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h)/g)) {
    seconds += Number(amount) * (UNIT_SECONDS[unit ?? 's'] ?? 1);
    seen = true;
  }
  return seen ? bounded(seconds) : null;
};

/**
 * The wait that a provider requests, in seconds: from `retry-after-ms`, `retry-after` (seconds or a date), Google's
 * `retryDelay`, or "try again in …" in its message. Null if it gives none.
 */
export const retryAfterSeconds = (
  headers: IncomingHttpHeaders,
  { message, retryDelay }: Pick<ProviderError, 'message' | 'retryDelay'>,
  nowMs: number,
): number | null => {
  const milliseconds = headerText(headers['retry-after-ms']);
  if (milliseconds !== undefined && /^\d+(\.\d+)?$/.test(milliseconds))
    return bounded(Number(milliseconds) / 1000);
  const header = headerText(headers['retry-after']);
  if (header !== undefined) {
    if (/^\d+(\.\d+)?$/.test(header)) return bounded(Number(header));
    const date = Date.parse(header);
    if (!Number.isNaN(date)) return bounded(Math.max(0, (date - nowMs) / 1000));
  }
  if (retryDelay !== null) return durationSeconds(retryDelay);
  const match =
    /try again in ((?:\s*\d+(?:\.\d+)?\s*(?:milliseconds?|ms|seconds?|s|minutes?|m|hours?|h)\b)+|[\dhms.]+)/i.exec(
      message,
    );
  return match?.[1] === undefined
    ? null
    : durationSeconds(
        match[1]
          .replace(/milliseconds?/gi, 'ms')
          .replace(/seconds?/gi, 's')
          .replace(/minutes?/gi, 'm'),
      );
};
