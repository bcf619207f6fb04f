import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { error, startProvider, startUpstream } from '../provider-for-tests.ts';
import type { Attempt, Reply } from '../replies/reply.ts';
import type { SendOptions } from './send.ts';
import { MAX_BYTES, refusal, sendRequest } from './send-for-tests.ts';

/** Never answers. */
const silence = (): void => undefined;

test('no more requests are sent for one request than the model allows', async () => {
  const failing = await startProvider(error(503, {}));
  const good = await startProvider();
  const seen: Attempt[] = [];
  const upstream = await startUpstream(
    { one: { origin: failing.origin }, two: { origin: failing.origin }, three: { origin: good.origin } },
    (one) => seen.push(one),
    'fallback: { maxAttempts: 2 }',
  );
  expect(await refusal(upstream)).toMatchObject({ code: 'upstream_overloaded' });
  expect(seen.map(({ channel }) => channel)).toEqual(['one', 'two']);
  expect(good.requests).toHaveLength(0);
});

test('another request to the same candidate counts too; where none may follow, its refusal is the error', async () => {
  const refusing = await startProvider(error(400, { error: { message: 'wrong' } }));
  const good = await startProvider();
  const upstream = await startUpstream(
    { one: { origin: refusing.origin }, two: { origin: good.origin } },
    undefined,
    'fallback: { maxAttempts: 2 }',
  );
  const mayRepeat: boolean[] = [];
  const refused: SendOptions['refused'] = (_, refusal, may) => {
    mayRepeat.push(may);
    return may ? null : refusal;
  };
  expect(await refusal(upstream, { refused })).toMatchObject({ code: 'upstream_rejected' });
  expect(mayRepeat).toEqual([true, false]);
  expect(refusing.requests).toHaveLength(2);
  expect(good.requests).toHaveLength(0);
});

test('a reply that turns out to be no answer counts too, as a failed attempt', async () => {
  const provider = await startProvider();
  const upstream = await startUpstream(
    {
      one: { origin: provider.origin },
      two: { origin: provider.origin },
      three: { origin: provider.origin },
    },
    undefined,
    'fallback: { maxAttempts: 2 }',
  );
  const unread = new GatewayError('upstream_failed', 'no answer');
  const read = async (reply: Reply) => {
    await reply.bytes(MAX_BYTES);
    return unread;
  };
  let attempts: readonly Attempt[] = [];
  const onAttempt: SendOptions['onAttempt'] = (_, all) => {
    attempts = all;
  };
  expect(await refusal(upstream, { read, onAttempt })).toBe(unread);
  expect(attempts.map(({ channel, outcome }) => `${channel} ${outcome}`)).toEqual([
    'one failed',
    'two failed',
  ]);
});

test('another request to the same candidate has the time that is left', async () => {
  const provider = await startProvider();
  provider.answer = (response, received) => {
    if (provider.requests.length === 1) error(400, { error: { message: 'wrong' } })(response, received);
  };
  const seen: Attempt[] = [];
  const upstream = await startUpstream(
    { one: { origin: provider.origin } },
    (one) => seen.push(one),
    'fallback: { totalMs: 200 }',
  );
  expect(await refusal(upstream, { refused: () => null })).toMatchObject({ code: 'upstream_timeout' });
  expect(seen).toMatchObject([
    { outcome: 'rejected' },
    { outcome: 'timeout', detail: 'the time limit "all attempts" ran out' },
  ]);
});

test('a channel that is full and therefore skipped is no attempt', async () => {
  const full = await startProvider(silence);
  const good = await startProvider();
  const upstream = await startUpstream(
    { full: { origin: full.origin, settings: 'maxConcurrent: 1' }, good: { origin: good.origin } },
    undefined,
    'fallback: { maxAttempts: 1 }',
  );
  const leaving = new AbortController();
  const first = refusal(upstream, { signal: leaving.signal });
  const reply = await sendRequest(upstream);
  expect(reply.attempts).toMatchObject([{ outcome: 'busy' }, { channel: 'good', outcome: 'ok' }]);
  await reply.bytes(MAX_BYTES);
  leaving.abort();
  expect(await first).toMatchObject({ code: 'client_closed_request' });
});

test('when the time for all attempts is over, the request fails and no other channel is tried', async () => {
  const slow = await startProvider(silence);
  const good = await startProvider();
  const seen: Attempt[] = [];
  const upstream = await startUpstream(
    { slow: { origin: slow.origin }, good: { origin: good.origin } },
    (one) => seen.push(one),
    'fallback: { totalMs: 50 }',
  );
  expect(await refusal(upstream)).toMatchObject({ code: 'upstream_timeout' });
  expect(seen).toMatchObject([
    { channel: 'slow', outcome: 'timeout', detail: 'the time limit "all attempts" ran out' },
  ]);
  expect(good.requests).toHaveLength(0);
});

test('a request waits for a slot no longer than the time that is left for all attempts', async () => {
  const failing = await startProvider(error(500, {}));
  // Its only slot is taken by a stream that does not end.
  const full = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
  });
  const upstream = await startUpstream(
    {
      failing: { origin: failing.origin },
      full: { origin: full.origin, settings: 'maxConcurrentPerProcess: 1, maxWaitMs: 60000' },
    },
    undefined,
    'fallback: { totalMs: 100 }',
  );
  const model = upstream.resolveModel('small') ?? expect.fail();
  const [, last] = upstream.candidates({ model, protocol: 'responses' });
  await sendRequest(upstream, { candidates: last ? [last] : [], streamed: true });
  expect(await refusal(upstream)).toMatchObject({ code: 'upstream_failed' });
  expect(full.requests).toHaveLength(1);
});

test('a later attempt gets the time that is left', async () => {
  const failing = await startProvider(error(500, {}));
  const slow = await startProvider(silence);
  const upstream = await startUpstream(
    { failing: { origin: failing.origin }, slow: { origin: slow.origin } },
    undefined,
    'fallback: { totalMs: 200 }',
  );
  // The failure that is best worth a retry.
  expect(await refusal(upstream)).toMatchObject({ code: 'upstream_timeout' });
  expect(slow.requests).toHaveLength(1);
});

test('the time for all attempts does not bound a reply whose first output has come', async () => {
  const provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
    setTimeout(() => response.end('data: [DONE]\n\n'), 120);
  });
  const upstream = await startUpstream(
    { one: { origin: provider.origin } },
    undefined,
    'fallback: { totalMs: 60 }',
  );
  const reply = await sendRequest(upstream, { streamed: true, holdsStart: true });
  expect((await reply.bytes(MAX_BYTES)).toString()).toContain('[DONE]');
});
