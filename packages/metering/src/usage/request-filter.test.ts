import { NOTHING_CONSUMED, type UsageRecord } from '@gateway/contracts/usage/usage-record';
import { expect, test } from 'vitest';
import { isWantedRequest } from './request-filter.ts';

const answered: UsageRecord = {
  ...{ id: 'req_1', keyId: 'key_1', team: null, endpoint: 'responses', model: 'gpt-5', startedAtMs: 0 },
  ...{ outcome: 'ok', channel: 'one', attempts: 1, durationMs: 1000, firstByteMs: 100 },
  ...{ consumption: NOTHING_CONSUMED, estimated: false, costMicroUsd: 0 },
};

test.for([
  ['that ended well', {}],
  ['that broke off', { outcome: 'cut', detail: { upstreamMs: 90, errorCode: 'upstream_failed' } }],
  ['whose caller left', { outcome: 'left', detail: { upstreamMs: 90 } }],
] as const)('a request %s is one with an attempt at the channel that answered', ([, change]) => {
  const record: UsageRecord = { ...answered, ...change };
  const hasAttempt = (attempt: object) => isWantedRequest(record, { only: {}, attempt });
  expect(hasAttempt({ channel: 'one' })).toBe(true);
  expect(hasAttempt({ channel: 'one', outcome: 'ok' })).toBe(true);
  expect(hasAttempt({ channel: 'two' })).toBe(false);
  expect(hasAttempt({ channel: 'one', outcome: 'failed' })).toBe(false);
});

test('a request that no channel answered is not one with an attempt', () => {
  const record: UsageRecord = { ...answered, outcome: 'failed', attempts: 0, channel: null };
  expect(isWantedRequest(record, { only: {}, attempt: { outcome: 'ok' } })).toBe(false);
  expect(isWantedRequest({ ...record, channel: 'one' }, { only: {}, attempt: { channel: 'one' } })).toBe(
    false,
  );
});

test('a request without an output did not take any time to its first one', () => {
  const isFound = (firstByteMs: number | null, minFirstOutputMs: number | undefined) =>
    isWantedRequest({ ...answered, firstByteMs }, { only: {}, minFirstOutputMs });
  expect([isFound(null, 0), isFound(0, 0), isFound(null, undefined)]).toEqual([false, true, true]);
});
