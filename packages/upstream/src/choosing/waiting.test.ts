import { waitFor } from '@gateway/testkit/wait-for';
import { expect, test } from 'vitest';
import { error, json, startProvider, startUpstream } from '../provider-for-tests.ts';
import { MAX_BYTES, refusal, sendRequest } from '../sending/send-for-tests.ts';
import type { Upstream } from '../upstream.ts';

const ONE_SLOT = 'maxConcurrentPerProcess: 1, maxWaitMs: 60000';

/** A provider that answers when the test releases it. */
const heldProvider = async () => {
  const held = Promise.withResolvers<void>();
  const provider = await startProvider(async (response) => {
    await held.promise;
    json(response, {});
  });
  return { provider, answer: held.resolve };
};

const waitingAt = (upstream: Upstream, channel: string): number =>
  [...upstream.slots].find((slots) => slots.channel === channel)?.waiting ?? 0;

const inFlight = (upstream: Upstream): number =>
  [...upstream.slots].reduce((sum, slots) => sum + slots.inFlight, 0);

test('a request waits for a slot of the only channel, and is answered when it gets one', async () => {
  const { provider, answer } = await heldProvider();
  const upstream = await startUpstream({ one: { origin: provider.origin, settings: ONE_SLOT } });
  const first = sendRequest(upstream);
  const second = sendRequest(upstream);
  await waitFor(() => provider.requests.length === 1 && waitingAt(upstream, 'one') === 1);
  answer();
  await (await first).bytes(MAX_BYTES);
  const reply = await second;
  await reply.bytes(MAX_BYTES);
  expect(reply.attempts).toMatchObject([{ outcome: 'busy' }, { outcome: 'ok' }]);
  expect(inFlight(upstream)).toBe(0);
});

test('a request takes another route instead of waiting', async () => {
  const { provider, answer } = await heldProvider();
  const free = await startProvider();
  const upstream = await startUpstream({
    one: { origin: provider.origin, settings: ONE_SLOT },
    two: { origin: free.origin },
  });
  const first = sendRequest(upstream);
  await waitFor(() => provider.requests.length === 1);
  const reply = await sendRequest(upstream);
  expect(reply.candidate.channel.name).toBe('two');
  await reply.bytes(MAX_BYTES);
  answer();
  await (await first).bytes(MAX_BYTES);
});

test('a request waits for a full channel where all others failed', async () => {
  const { provider, answer } = await heldProvider();
  const failing = await startProvider(error(500, {}));
  const upstream = await startUpstream({
    one: { origin: provider.origin, settings: ONE_SLOT },
    two: { origin: failing.origin },
  });
  const first = sendRequest(upstream);
  await waitFor(() => provider.requests.length === 1);
  const second = sendRequest(upstream);
  await waitFor(() => waitingAt(upstream, 'one') === 1);
  answer();
  await (await first).bytes(MAX_BYTES);
  const reply = await second;
  await reply.bytes(MAX_BYTES);
  expect(reply.attempts.map(({ channel, outcome }) => `${channel} ${outcome}`)).toEqual([
    'one busy',
    'two failed',
    'one ok',
  ]);
});

test.for([
  ['cannot be written', () => Promise.reject(new Error('ours'))],
  [
    'throws',
    () => {
      throw new Error('ours');
    },
  ],
] as const)('a request that %s leaves no slot taken', async ([, request]) => {
  const provider = await startProvider();
  const upstream = await startUpstream({ one: { origin: provider.origin, settings: ONE_SLOT } });
  await refusal(upstream, { request });
  expect(inFlight(upstream)).toBe(0);
  await (await sendRequest(upstream)).bytes(MAX_BYTES);
});

test('a caller who leaves while waiting ends the request, and takes no slot', async () => {
  const { provider, answer } = await heldProvider();
  const upstream = await startUpstream({ one: { origin: provider.origin, settings: ONE_SLOT } });
  const first = sendRequest(upstream);
  const caller = new AbortController();
  const second = refusal(upstream, { signal: caller.signal });
  await waitFor(() => waitingAt(upstream, 'one') === 1);
  caller.abort();
  expect(await second).toMatchObject({ code: 'client_closed_request' });
  answer();
  await (await first).bytes(MAX_BYTES);
  expect(inFlight(upstream)).toBe(0);
});

test('a new configuration keeps what is in flight, and lets those who wait go on when it allows more', async () => {
  const { provider, answer } = await heldProvider();
  const upstream = await startUpstream({ one: { origin: provider.origin, settings: ONE_SLOT } });
  const both = [sendRequest(upstream), sendRequest(upstream)];
  await waitFor(() => waitingAt(upstream, 'one') === 1);
  const wider = await startUpstream({
    one: { origin: provider.origin, settings: 'maxConcurrentPerProcess: 2' },
  });
  upstream.replace(wider.configuration);
  await waitFor(() => provider.requests.length === 2);
  expect(inFlight(upstream)).toBe(2);
  answer();
  for (const one of both) await (await one).bytes(MAX_BYTES);
  expect(inFlight(upstream)).toBe(0);
});
