import { NOTHING_CONSUMED, type UsageResult, type UsageSubject } from '@gateway/contracts/usage/usage-record';

/** A request of `key_1`. */
export const sampleSubject = (id: string, startedAtMs: number): UsageSubject => ({
  id,
  keyId: 'key_1',
  team: null,
  endpoint: 'responses',
  model: 'gpt-5',
  startedAtMs,
});

/** How it ended, with what it cost. */
export const sampleResult = (costMicroUsd: number): UsageResult => ({
  outcome: 'ok',
  channel: 'openai',
  attempts: 1,
  durationMs: 1,
  firstByteMs: 1,
  consumption: NOTHING_CONSUMED,
  estimated: false,
  costMicroUsd,
});
