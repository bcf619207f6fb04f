import type { IncomingHttpHeaders } from 'node:http';
import { durationSeconds } from '../../failures/retry-after.ts';

/**
 * When a rate limit is full again, by the headers of providers:
 * OpenAI `x-ratelimit-reset-requests: 1s`, `x-ratelimit-reset-tokens: 6m0s`; Azure the same as plain seconds; Anthropic
 * `anthropic-ratelimit-input-tokens-reset: 2026-01-27T12:00:30Z`; OpenRouter `x-ratelimit-reset: 1741305600000`.
 * Each limit has a header of the same name with `remaining` for `reset`.
 */
const RESET = /^(?:x-ratelimit-reset(?:-.+)?|anthropic-ratelimit-.+-reset)$/;
const remainingName = (name: string): string => name.replace('reset', 'remaining');

/** Below these a number is a wait in seconds, or the seconds since 1970; above them the milliseconds since 1970. */
const MIN_EPOCH_SECONDS = 1e9;
const MIN_EPOCH_MS = 1e12;

const waitMsOf = (value: string, nowMs: number): number | null => {
  if (/^\d+(\.\d+)?$/.test(value)) {
    const number = Number(value);
    if (number < MIN_EPOCH_SECONDS) return number * 1000;
    return (number < MIN_EPOCH_MS ? number * 1000 : number) - nowMs;
  }
  const date = /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number.NaN;
  if (!Number.isNaN(date)) return date - nowMs;
  const seconds = durationSeconds(value);
  return seconds === null ? null : seconds * 1000;
};

/**
 * How long until a request can succeed, in milliseconds, by the limits that are used up; where the provider does not name them,
 * by the one that is reset first. Null: no such header.
 */
export const resetWaitMs = (headers: IncomingHttpHeaders, nowMs: number): number | null => {
  const limits = Object.entries(headers).flatMap(([name, value]) => {
    if (!RESET.test(name) || typeof value !== 'string') return [];
    const waitMs = waitMsOf(value.trim(), nowMs);
    return waitMs === null
      ? []
      : [{ waitMs: Math.max(0, waitMs), isUsedUp: headers[remainingName(name)] === '0' }];
  });
  if (limits.length === 0) return null;
  const usedUp = limits.filter((limit) => limit.isUsedUp);
  return usedUp.length > 0
    ? Math.max(...usedUp.map(({ waitMs }) => waitMs))
    : Math.min(...limits.map(({ waitMs }) => waitMs));
};
