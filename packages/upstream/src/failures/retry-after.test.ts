import { expect, test } from 'vitest';
import { retryAfterSeconds } from './retry-after.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');

const CASES: readonly (readonly [
  headers: Record<string, string>,
  message: string,
  seconds: number | null,
])[] = [
  [{ 'retry-after': '7' }, '', 7],
  [{ 'retry-after': '0.5' }, '', 0.5],
  [{ 'retry-after': 'Fri, 20 Nov 2026 12:00:30 GMT' }, '', 30],
  [{ 'retry-after': 'Fri, 20 Nov 2026 11:00:00 GMT' }, '', 0],
  [{ 'retry-after-ms': '1500', 'retry-after': '7' }, '', 1.5],
  [{ 'retry-after': '999999999' }, '', 86_400],
  [{ 'retry-after': 'soon' }, '', null],
  [{}, 'Please try again in 1.898s. Visit …', 1.898],
  [{}, 'Please try again in 120ms.', 0.12],
  [{}, 'Please try again in 6m0s.', 360],
  [{}, 'Please try again in 1h2m3s', 3723],
  [{}, 'Try again in 20 seconds', 20],
  [{}, 'try again in 2 minutes.', 120],
  [{}, 'try again in a while', null],
  [{}, 'no delay at all', null],
];

test.for(CASES)('%j and "%s" mean %s seconds', ([headers, message, seconds]) => {
  expect(retryAfterSeconds(headers, { message, retryDelay: null }, NOW)).toBe(seconds);
});
