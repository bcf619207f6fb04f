import { expect, test } from 'vitest';
import type { Candidate } from '../candidate.ts';
import { Accounts } from '../choosing/accounts.ts';
import { startUpstream } from '../provider-for-tests.ts';
import { Hedger } from './hedger.ts';

const RULE = { minSamples: 3, minDelayMs: 100, maxDelayMs: 1000, maxShare: 0.25 };

const candidates = async (): Promise<readonly [Candidate, Candidate]> => {
  const origin = 'http://127.0.0.1:1';
  const upstream = await startUpstream(
    { one: { origin }, two: { origin } },
    undefined,
    'hedge: { maxShare: 0.25 }',
  );
  const model = upstream.resolveModel('small') ?? expect.fail();
  const [one, two] = upstream.candidates({ model, protocol: 'responses' });
  return [one ?? expect.fail(), two ?? expect.fail()];
};

test('the delay is what nearly all first outputs of this model at this channel took, within its bounds', async () => {
  const [one, two] = await candidates();
  const accounts = new Accounts({});
  const hedger = new Hedger((candidate) => accounts.of(candidate));
  const observe = (ms: number) => hedger.observe(one, true, ms);
  for (const ms of [200, 200]) observe(ms);
  expect(hedger.delayMs(one, RULE, true)).toBeNull();
  observe(200);
  expect(hedger.delayMs(one, RULE, true)).toBeGreaterThanOrEqual(200);
  expect(hedger.delayMs(one, RULE, true)).toBeLessThanOrEqual(221);
  expect(hedger.delayMs(one, { ...RULE, minDelayMs: 500 }, true)).toBe(500);
  expect(hedger.delayMs(one, { ...RULE, maxDelayMs: 150 }, true)).toBe(150);
  expect(hedger.delayMs(one, RULE, false)).toBeNull();
  expect(hedger.delayMs(two, RULE, true)).toBeNull();
});

test('hedges are a share of the requests, a few of them saved for later', async () => {
  const [one] = await candidates();
  const accounts = new Accounts({});
  const hedger = new Hedger((candidate) => accounts.of(candidate));
  let taken = 0;
  for (let requests = 0; requests < 100; requests += 1) {
    hedger.count(one);
    if (hedger.take(one)) taken += 1;
  }
  expect(taken).toBe(25);
  for (let requests = 0; requests < 1000; requests += 1) hedger.count(one);
  let burst = 0;
  while (hedger.take(one)) burst += 1;
  expect(burst).toBe(10);
});
