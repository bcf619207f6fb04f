import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { JOBS, type JobSpec } from '../catalog.ts';
import { retryDelayMs } from './retry-policy.ts';

const free = { ...JOBS['audio.transcription'], attempts: 3 };
const paid = { ...JOBS['image.generation'], attempts: 3 };
const delay = (code: ErrorCode, spec: Pick<JobSpec, 'attempts' | 'retry'>, more = {}, attempt = 1) =>
  retryDelayMs(new GatewayError(code, { message: 'x', ...more }), attempt, spec);

test("a caller's mistake and a bug are never tried again", () => {
  for (const code of [
    'upstream_rejected',
    'invalid_value',
    'internal',
    'storage_full',
    'job_cancelled',
  ] as const)
    expect(delay(code, free)).toBeUndefined();
});

test('work that may have been done is tried again only where it is free', () => {
  for (const code of ['outcome_unknown', 'upstream_timeout'] as const) {
    expect(delay(code, free)).toBeGreaterThan(0);
    expect(delay(code, paid)).toBeUndefined();
  }
});

test('work that certainly did not begin is tried again, ever later, until the attempts are used up', () => {
  expect([1, 2, 3].map((attempt) => delay('upstream_unreachable', paid, {}, attempt))).toEqual([
    500,
    1000,
    undefined,
  ]);
});

test('a short pause that an upstream requests is kept; a long one is passed on to the caller', () => {
  expect(delay('upstream_rate_limited', paid, { retryAfterSeconds: 3 })).toBe(3000);
  expect(delay('upstream_rate_limited', paid, { retryAfterSeconds: 30 })).toBeUndefined();
});

test('an error that forbids a repetition is not repeated', () => {
  expect(delay('upstream_failed', paid, { retry: false })).toBeUndefined();
  expect(delay('upstream_timeout', free, { retry: false })).toBeUndefined();
});
