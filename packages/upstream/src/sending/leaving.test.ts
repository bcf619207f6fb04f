import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { muteOrigin, startProvider, startUpstream } from '../provider-for-tests.ts';
import type { Reply } from '../replies/reply.ts';
import type { Upstream } from '../upstream.ts';

const sendRequest = (upstream: Upstream, signal: AbortSignal): Promise<Reply> => {
  const model = upstream.resolveModel('small');
  if (model === null) throw new Error('no model');
  return upstream.send({
    candidates: upstream.candidates({ model, protocol: 'responses' }),
    request: () => ({ operation: 'responses', method: 'POST', headers: {}, body: '{}' }),
    dialect: 'openai',
    work: 'free',
    streamed: true,
    signal,
  });
};

const LEFT = { code: 'client_closed_request', source: 'gateway' };

test('no request is sent for a caller who has left before', async () => {
  const provider = await startProvider();
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  await expect(sendRequest(upstream, AbortSignal.abort())).rejects.toMatchObject(LEFT);
  expect(provider.requests).toEqual([]);
});

test('a caller who leaves before the first byte ends the request at the provider, and no other is tried', async () => {
  const caller = new AbortController();
  const provider = await startProvider(() => caller.abort());
  const reserve = await startProvider();
  const upstream = await startUpstream({ one: { origin: provider.origin }, two: { origin: reserve.origin } });
  await expect(sendRequest(upstream, caller.signal)).rejects.toMatchObject(LEFT);
  await provider.left;
  expect(reserve.requests).toEqual([]);
});

test('a caller who leaves after the first byte ends the request at the provider', async () => {
  const caller = new AbortController();
  const provider = await startProvider((response) => response.writeHead(200).write('one'));
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const reply = await sendRequest(upstream, caller.signal);
  const ended = Promise.withResolvers<GatewayError>();
  reply.consume({
    onChunk: () => {
      caller.abort();
      return false;
    },
    onEnd: () => ended.reject(new Error('it ended')),
    onError: ended.resolve,
  });
  expect(await ended.promise).toMatchObject(LEFT);
  await provider.left;
});

test('leaving the loop over a body, and cancelling, end the request at the provider', async () => {
  for (const stop of ['loop', 'cancel'] as const) {
    const provider = await startProvider((response) => response.writeHead(200).write('one'));
    const upstream = await startUpstream({ one: { origin: provider.origin } });
    const reply = await sendRequest(upstream, new AbortController().signal);
    if (stop === 'cancel') reply.cancel();
    else for await (const _ of reply.body) break;
    await provider.left;
  }
});

test('a channel that drains reads on to the end after the caller has left', async () => {
  const caller = new AbortController();
  const gone = Promise.withResolvers<void>();
  const provider = await startProvider(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    await gone.promise;
    response.end('data: usage\n\n');
  });
  const upstream = await startUpstream({ one: { origin: provider.origin, settings: 'onDisconnect: drain' } });
  const reply = await sendRequest(upstream, caller.signal);
  const ended = Promise.withResolvers<string>();
  let read = '';
  reply.consume({
    onChunk: (chunk) => {
      read += chunk.toString();
      caller.abort();
      gone.resolve();
      return false;
    },
    onEnd: () => ended.resolve(read),
    onError: ended.reject,
  });
  expect(await ended.promise).toBe('data: 1\n\ndata: usage\n\n');
  expect(reply.draining).toBe(true);
});

test('a channel that drains also waits for the first output of a request that was sent', async () => {
  const caller = new AbortController();
  const provider = await startProvider((response) => {
    caller.abort();
    response.end('{"usage":1}');
  });
  const upstream = await startUpstream({ one: { origin: provider.origin, settings: 'onDisconnect: drain' } });
  const reply = await sendRequest(upstream, caller.signal);
  expect(reply.draining).toBe(true);
  expect((await reply.bytes(100)).toString()).toBe('{"usage":1}');
});

test('draining ends after its time, and tries no other channel', async () => {
  const caller = new AbortController();
  const provider = await startProvider(() => caller.abort());
  const reserve = await startProvider();
  const settings = 'onDisconnect: drain, drainMs: 30';
  const upstream = await startUpstream({
    one: { origin: provider.origin, settings },
    two: { origin: reserve.origin },
  });
  await expect(sendRequest(upstream, caller.signal)).rejects.toBeInstanceOf(GatewayError);
  await provider.left;
  expect(reserve.requests).toEqual([]);
});

test('a channel that fails while it is drained is the last one tried', async () => {
  const caller = new AbortController();
  const provider = await startProvider((response) => {
    caller.abort();
    response.writeHead(500).end();
  });
  const reserve = await startProvider();
  const upstream = await startUpstream({
    one: { origin: provider.origin, settings: 'onDisconnect: drain' },
    two: { origin: reserve.origin },
  });
  await expect(sendRequest(upstream, caller.signal)).rejects.toMatchObject(LEFT);
  expect(reserve.requests).toEqual([]);
});

test('while the connection is still being made there is nothing to drain', async () => {
  const caller = new AbortController();
  const settings = 'onDisconnect: drain, drainMs: 3600000, timeouts: { connectMs: 3600000 }';
  const upstream = await startUpstream({ one: { origin: await muteOrigin(), settings } });
  const waiting = sendRequest(upstream, caller.signal);
  caller.abort();
  await expect(waiting).rejects.toMatchObject(LEFT);
});
