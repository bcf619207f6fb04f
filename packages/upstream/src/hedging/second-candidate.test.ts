import type { ServerResponse } from 'node:http';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, test } from 'vitest';
import { Accounts } from '../choosing/accounts.ts';
import { type ChannelForTests, error, json, startProvider, startUpstream } from '../provider-for-tests.ts';
import type { Attempt } from '../replies/reply.ts';
import { MAX_BYTES, sendRequest } from '../sending/send-for-tests.ts';
import { SendProgress } from '../sending/send-progress.ts';

const HEDGED = { mayHedge: true } as const;
const SETTINGS = 'hedge: { minSamples: 2, minDelayMs: 10, maxDelayMs: 10, maxShare: 1 }';

/** A first provider whose times are known and who is silent from now on, and a second one. */
const startPair = async (
  first: Omit<ChannelForTests, 'origin'> = {},
  second: Omit<ChannelForTests, 'origin'> = {},
) => {
  const late = await startProvider();
  const other = await startProvider();
  const upstream = await startUpstream(
    { first: { origin: late.origin, ...first }, second: { origin: other.origin, ...second } },
    undefined,
    SETTINGS,
  );
  for (let count = 0; count < 2; count += 1) await (await sendRequest(upstream, HEDGED)).bytes(MAX_BYTES);
  const held: ServerResponse[] = [];
  late.answer = (response) => held.push(response);
  const model = upstream.resolveModel('small') ?? expect.fail();
  const candidates = upstream.candidates({ model, protocol: 'responses' });
  return { late, held, other, upstream, candidates };
};

const shown = (attempts: readonly Attempt[]): string[] =>
  attempts.map(({ channel, account, outcome }) => `${channel} ${account} ${outcome}`);

test('a late one that answers is not held up by a second one that waits for its slot', async () => {
  const one = { settings: 'maxConcurrentPerProcess: 1, maxWaitMs: 60000' };
  const { held, other, upstream, candidates } = await startPair({}, one);
  const slow: ServerResponse[] = [];
  other.answer = (response) => slow.push(response);
  const full = sendRequest(upstream, { candidates: candidates.slice(1) });
  await waitFor(() => slow.length === 1);

  const asked = sendRequest(upstream, HEDGED);
  await waitFor(() => [...upstream.slots].some(({ waiting }) => waiting === 1));
  for (const response of held) json(response, { ok: true });
  const reply = await asked;
  expect(shown(reply.attempts)).toEqual(['second default busy', 'first default ok']);
  await reply.bytes(MAX_BYTES);
  for (const response of slow) json(response, { ok: true });
  await (await full).bytes(MAX_BYTES);
  expect([...upstream.slots].map(({ inFlight, waiting }) => inFlight + waiting)).toEqual([0, 0]);
});

test('another channel is asked beside a late one before another account of the same channel', async () => {
  const { late, upstream } = await startPair({ accounts: ['a', 'b'] });
  const before = late.requests.length;
  const reply = await sendRequest(upstream, HEDGED);
  expect(reply.candidate.channel.name).toBe('second');
  await reply.bytes(MAX_BYTES);
  expect(late.requests.length - before).toBe(1);
});

test('a channel that rests is not asked beside a late one', async () => {
  const { other, upstream, candidates } = await startPair();
  other.answer = error(429, {}, { 'retry-after': '1000' });
  await expect(sendRequest(upstream, { candidates: candidates.slice(1) })).rejects.toMatchObject({
    code: 'upstream_rate_limited',
  });
  const accounts = new Accounts({});
  const progress = new SendProgress({
    candidates,
    turns: upstream.health.turns(candidates),
    stateOf: (candidate) => accounts.of(candidate),
    onAttempt: () => undefined,
  });
  const next = async (isHedge: boolean) => (await progress.next({ isHedge, ended: undefined }))?.candidate;
  expect(await next(false)).toBe(candidates[0]);
  expect(await next(true)).toBeUndefined();
  expect(await next(false)).toBe(candidates[1]);
});
