import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { error, json, type ProviderForTests, startProvider, startUpstream } from '../provider-for-tests.ts';
import type { Attempt } from '../replies/reply.ts';
import type { SendOptions } from '../sending/send.ts';
import { MAX_BYTES, refusal, sendRequest } from '../sending/send-for-tests.ts';
import type { HedgeResult } from './send-hedged.ts';

/** Never answers. */
const silence = (): void => undefined;
const HEDGED = { mayHedge: true } as const satisfies Partial<SendOptions>;
const SETTINGS = 'hedge: { minSamples: 2, minDelayMs: 10, maxDelayMs: 10, maxShare: 1 }';

/** Holds its answers back until they are released. */
const createHeld = () => {
  const waiting: ServerResponse[] = [];
  const came = Promise.withResolvers<void>();
  return {
    came: came.promise,
    answer: (response: ServerResponse) => {
      waiting.push(response);
      came.resolve();
    },
    release: () => {
      for (const response of waiting) json(response, { ok: true });
    },
  };
};

interface Pair {
  readonly first: ProviderForTests;
  readonly second: ProviderForTests;
  readonly hedges: HedgeResult[];
  readonly attempts: Attempt[];
  send(options?: Partial<SendOptions>): ReturnType<typeof sendRequest>;
  refusal(options?: Partial<SendOptions>): ReturnType<typeof refusal>;
}

/** Two providers, the first of which has answered quickly as often as it takes to know its times. */
const startPair = async (settings = SETTINGS, samples = 2): Promise<Pair> => {
  const first = await startProvider();
  const second = await startProvider();
  const hedges: HedgeResult[] = [];
  const attempts: Attempt[] = [];
  const upstream = await startUpstream(
    { first: { origin: first.origin }, second: { origin: second.origin } },
    (attempt) => attempts.push(attempt),
    settings,
    (result) => hedges.push(result),
  );
  for (let count = 0; count < samples; count += 1)
    await (await sendRequest(upstream, HEDGED)).bytes(MAX_BYTES);
  attempts.length = 0;
  return {
    first,
    second,
    hedges,
    attempts,
    send: (options) => sendRequest(upstream, { ...HEDGED, ...options }),
    refusal: (options) => refusal(upstream, { ...HEDGED, ...options }),
  };
};

const shown = (attempts: readonly Attempt[]): string[] =>
  attempts.map(({ channel, outcome, isHedge }) => `${channel} ${outcome}${isHedge ? ' hedge' : ''}`);

test('a second channel is called beside a late one; it answers first, and the late one is aborted', async () => {
  const pair = await startPair();
  pair.first.answer = silence;
  const reply = await pair.send();
  expect(reply.candidate.channel.name).toBe('second');
  expect(shown(reply.attempts)).toEqual(['first overtaken', 'second ok hedge']);
  expect(shown(pair.attempts)).toEqual(shown(reply.attempts));
  await reply.bytes(MAX_BYTES);
  await pair.first.left;
  expect(pair.hedges).toEqual([{ channel: 'first', winner: 'second' }]);
});

test('the late one may still answer first; then the second one is aborted', async () => {
  const pair = await startPair();
  const held = createHeld();
  pair.first.answer = held.answer;
  pair.second.answer = () => held.release();
  const reply = await pair.send();
  expect(shown(reply.attempts)).toEqual(['second overtaken hedge', 'first ok']);
  await reply.bytes(MAX_BYTES);
  await pair.second.left;
  expect(pair.hedges).toEqual([{ channel: 'first', winner: 'first' }]);
});

test('one of two that fails leaves the other one to answer', async () => {
  const pair = await startPair();
  const held = createHeld();
  pair.first.answer = held.answer;
  pair.second.answer = (response) => {
    error(500, {})(response, pair.second.requests[0] ?? expect.fail());
    setImmediate(held.release);
  };
  const reply = await pair.send();
  expect(shown(reply.attempts)).toEqual(['second failed hedge', 'first ok']);
  await reply.bytes(MAX_BYTES);
});

test('when both fail, the caller gets the failure that is worth a retry', async () => {
  const pair = await startPair();
  const late = Promise.withResolvers<void>();
  pair.first.answer = async (response) => {
    await late.promise;
    json(response, {}, 500);
  };
  pair.second.answer = (response) => {
    json(response, {}, 503);
    late.resolve();
  };
  expect(await pair.refusal()).toMatchObject({ code: 'upstream_overloaded' });
  expect(pair.hedges).toEqual([{ channel: 'first', winner: 'none' }]);
});

test("a refusal of the caller's own mistake ends both", async () => {
  const pair = await startPair();
  pair.first.answer = silence;
  pair.second.answer = error(400, { error: { message: 'wrong' } });
  expect(await pair.refusal()).toMatchObject({ code: 'upstream_rejected' });
  await pair.first.left;
  expect(pair.hedges).toEqual([{ channel: 'first', winner: 'none' }]);
});

test('a caller who leaves ends both', async () => {
  const pair = await startPair();
  const caller = new AbortController();
  pair.first.answer = silence;
  pair.second.answer = () => caller.abort();
  expect(await pair.refusal({ signal: caller.signal })).toMatchObject({ code: 'client_closed_request' });
  await Promise.all([pair.first.left, pair.second.left]);
  expect(shown(pair.attempts).sort()).toEqual(['first left', 'second left hedge']);
});

test('no other channel is called beside a late one where the caller does not allow it', async () => {
  const pair = await startPair();
  const held = createHeld();
  pair.first.answer = held.answer;
  const replying = pair.send({ mayHedge: false });
  await held.came;
  // One that began later was hedged: this one would have been, too.
  await (await pair.send()).bytes(MAX_BYTES);
  held.release();
  expect(shown((await replying).attempts)).toEqual(['first ok']);
  await (await replying).bytes(MAX_BYTES);
  expect(pair.second.requests).toHaveLength(1);
});

test('one of three requests is hedged where a third may be', async () => {
  const pair = await startPair('hedge: { minSamples: 3, minDelayMs: 10, maxDelayMs: 10, maxShare: 0.34 }', 3);
  pair.first.answer = silence;
  await (await pair.send()).bytes(MAX_BYTES);
  expect(pair.hedges).toHaveLength(1);
});
