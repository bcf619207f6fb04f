import { expect, test } from 'vitest';
import { classifyAnswer } from './failure-rules.ts';
import { readProviderError } from './provider-error.ts';
import { retryAfterSeconds } from './retry-after.ts';

const errorOf = (code: number, status: string, message: string, details: readonly object[] = []) =>
  readProviderError(JSON.stringify({ error: { code, message, status, details } }));

const kindOf = (status: number, error: ReturnType<typeof errorOf>) =>
  classifyAnswer({ status, error, namesObject: false, model: 'gemini-3.8-flash' });

const quota = (quotaId: string) => [
  { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId, quotaValue: '60' }] },
  { '@type': 'type.googleapis.com/google.rpc.Help', links: [{ url: 'https://example.invalid/' }] },
  { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '23.5s' },
];

test('a quota of a minute is a rate limit, with the wait that Google names', () => {
  const error = errorOf(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.', quota('PerMinute'));
  expect(kindOf(429, error)).toBe('rate-limited');
  expect(retryAfterSeconds({}, error, 0)).toBe(23.5);
});

test('a quota of a day is spent: no wait helps', () => {
  const error = errorOf(429, 'RESOURCE_EXHAUSTED', 'Quota.', quota('GenerateRequestsPerDayPerProject'));
  expect(kindOf(429, error)).toBe('quota-exhausted');
});

test('shared capacity without a wait is a rate limit', () => {
  const error = errorOf(429, 'RESOURCE_EXHAUSTED', 'Resource exhausted. Please try again later.');
  expect(kindOf(429, error)).toBe('rate-limited');
  expect(retryAfterSeconds({}, error, 0)).toBe(null);
});

test('a wrong key is reported with 400, and is the operator’s to correct', () => {
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' };
  expect(kindOf(400, errorOf(400, 'INVALID_ARGUMENT', 'API key not valid.', [info]))).toBe('misconfigured');
});

test('the field that Google names is the path of a refusal', () => {
  const violations = [{ field: 'generation_config.top_k', description: 'Unknown name' }];
  const details = [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations }];
  const error = errorOf(400, 'INVALID_ARGUMENT', 'Invalid JSON payload received.', details);
  expect(error.param).toBe('generationConfig.topK');
  expect(kindOf(400, error)).toBe('rejected');
});

test.for([
  [503, 'UNAVAILABLE', 'overloaded'],
  [504, 'DEADLINE_EXCEEDED', 'timeout'],
  [500, 'INTERNAL', 'failed'],
  [403, 'PERMISSION_DENIED', 'misconfigured'],
] as const)('%i %s is %s', ([status, word, kind]) => {
  expect(kindOf(status, errorOf(status, word, 'It failed.'))).toBe(kind);
});
