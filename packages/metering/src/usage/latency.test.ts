import { NOTHING_CONSUMED, type UsageRecord } from '@gateway/contracts/usage/usage-record';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Histogram, latencyBuckets, parseBucket } from './latency.ts';

const record = (changes: Partial<UsageRecord>): UsageRecord => ({
  id: 'req_1',
  keyId: 'key_1',
  team: null,
  endpoint: 'responses',
  model: 'gpt-5',
  startedAtMs: 0,
  outcome: 'ok',
  channel: 'openai',
  attempts: 1,
  durationMs: 1000,
  firstByteMs: 100,
  consumption: NOTHING_CONSUMED,
  estimated: false,
  costMicroUsd: 0,
  ...changes,
});

const BUCKET_WIDTH = 10 ** (1 / 5);

/** The totals of so many requests, as they are counted. */
function histogramOf(totals: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const durationMs of totals)
    for (const field of latencyBuckets(record({ durationMs, firstByteMs: null }))) {
      const { latency, bucket } = parseBucket(field) ?? {};
      expect(latency).toBe('totalMs');
      histogram.add(bucket ?? 0, 1);
    }
  return histogram;
}

test('a percentile is off by less than the width of a bucket, for any times', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 1, max: 1_000_000, noNaN: true }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.95),
      (totals, share) => {
        const sorted = totals.toSorted((a, b) => a - b);
        const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
        const found = histogramOf(totals).quantile(share) ?? 0;
        // Half a millisecond more: percentiles are whole numbers.
        expect(found + 0.5).toBeGreaterThanOrEqual(exact / BUCKET_WIDTH);
        expect(found - 0.5).toBeLessThanOrEqual(exact * BUCKET_WIDTH);
      },
    ),
  );
});

test('nothing measured has no percentile, and what did not end well is not measured', () => {
  expect(new Histogram().quantile(0.5)).toBeNull();
  expect(latencyBuckets(record({ outcome: 'failed' }))).toEqual([]);
  expect(latencyBuckets(record({ firstByteMs: null }))).toEqual(['t15']);
  expect(latencyBuckets(record({}))).toEqual(['f10', 't15']);
});

test('times beyond the scale count in its first and last bucket', () => {
  expect(latencyBuckets(record({ firstByteMs: 0, durationMs: 86_400_000 }))).toEqual(['f0', 't31']);
  expect(histogramOf([0, 0.2]).quantile(0.95)).toBe(1);
});

test('a field that is no bucket is none', () => {
  for (const field of ['f', 'x3', 'f32', 'f-1', 'requests']) expect(parseBucket(field)).toBeUndefined();
});
