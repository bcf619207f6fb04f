import { waitFor } from '@gateway/testkit/wait-for';
import { expect, test } from 'vitest';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import { error, json, startProvider, startUpstream } from '../provider-for-tests.ts';
import type { Reply } from '../replies/reply.ts';
import { bodyOf, MAX_BYTES, refusal, sendRequest } from '../sending/send-for-tests.ts';
import { createUpstream, type Upstream } from '../upstream.ts';

/** The channels that were tried for a request that is answered. */
const triedBy = async (upstream: Upstream): Promise<readonly string[]> => {
  const reply = await sendRequest(upstream);
  await reply.bytes(MAX_BYTES);
  return reply.attempts.map(({ channel }) => channel);
};

const settings = 'cooldown: { consecutiveFailures: 2, restSeconds: 1000, maxRestSeconds: 1000 }';

const pair = async () => {
  const [first, second] = [await startProvider(), await startProvider()];
  const upstream = await startUpstream({
    first: { origin: first.origin, settings },
    second: { origin: second.origin, settings },
  });
  return { first, second, upstream };
};

test('a channel that fails repeatedly gets no more requests', async () => {
  const { first, upstream } = await pair();
  first.answer = error(500, {});
  expect(await triedBy(upstream)).toEqual(['first', 'second']);
  expect(await triedBy(upstream)).toEqual(['first', 'second']);
  expect(await triedBy(upstream)).toEqual(['second']);
  expect(first.requests).toHaveLength(2);
});

test('a channel that rests is tried when the others fail, and is awake once it answers', async () => {
  const { first, second, upstream } = await pair();
  first.answer = error(500, {});
  await triedBy(upstream);
  await triedBy(upstream);
  first.answer = (response) => json(response, { ok: true });
  second.answer = error(500, {});
  expect(await triedBy(upstream)).toEqual(['second', 'first']);
  expect(await triedBy(upstream)).toEqual(['first']);
});

test('the only channel is tried though it rests, and its own error reaches the caller', async () => {
  const provider = await startProvider(error(429, {}, { 'retry-after': '1000' }));
  const upstream = await startUpstream({ only: { origin: provider.origin } });
  for (let index = 0; index < 3; index += 1)
    expect(await refusal(upstream)).toMatchObject({
      code: 'upstream_rate_limited',
      options: { retryAfterSeconds: 1000 },
    });
  expect(provider.requests).toHaveLength(3);
  provider.answer = (response) => json(response, { ok: true });
  expect(await bodyOf(await sendRequest(upstream))).toEqual({ ok: true });
  expect(upstream.health.resting()).toEqual([]);
});

test('a rate limit is not run into again while others serve', async () => {
  const { first, upstream } = await pair();
  first.answer = error(429, {}, { 'retry-after': '1000' });
  expect(await triedBy(upstream)).toEqual(['first', 'second']);
  expect(await triedBy(upstream)).toEqual(['second']);
});

test('streams that are cut put a channel to rest', async () => {
  const { first, upstream } = await pair();
  first.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"type":"response.output_text.delta"}\n\n', () => response.destroy());
  };
  for (let index = 0; index < 2; index += 1) {
    const reply = await sendRequest(upstream, { streamed: true });
    await expect(reply.bytes(MAX_BYTES)).rejects.toMatchObject({ code: 'upstream_failed' });
  }
  expect(await triedBy(upstream)).toEqual(['second']);
});

test('a refused connection rests the whole channel', async () => {
  const second = await startProvider();
  const upstream = await startUpstream({
    first: { origin: 'http://127.0.0.1:1', settings },
    second: { origin: second.origin, settings },
  });
  await triedBy(upstream);
  await triedBy(upstream);
  expect(upstream.health.resting()).toEqual([
    { channel: 'first', account: null, scope: 'channel', cause: 'unreachable' },
  ]);
});

test('nothing that callers do puts a channel to rest', async () => {
  const { first, upstream } = await pair();
  const silence = (): void => undefined;
  const refusals = [400, 404, 409, 413, 422].map((status) =>
    error(status, { error: { message: "No file 'file-123456'.", type: 'invalid_request_error' } }),
  );
  for (let round = 0; round < 3; round += 1) {
    for (const answer of refusals) {
      first.answer = answer;
      await refusal(upstream);
    }
    first.answer = silence;
    const leaving = new AbortController();
    const left = refusal(upstream, { signal: leaving.signal });
    await expect.poll(() => first.requests.length).toBe((round + 1) * 6);
    leaving.abort();
    expect(await left).toMatchObject({ code: 'client_closed_request' });
  }
  first.answer = (response) => json(response, { ok: true });
  expect(await triedBy(upstream)).toEqual(['first']);
});

test('a header of the caller that cannot be sent does not count', async () => {
  const { upstream } = await pair();
  for (let index = 0; index < 5; index += 1) {
    const headers = { 'user-agent': 'a\u0000b' };
    const request = () => ({ operation: 'responses' as const, method: 'POST' as const, headers, body: '{}' });
    await refusal(upstream, { request });
  }
  expect(await triedBy(upstream)).toEqual(['first']);
});

test('a reply that its caller reads too slowly does not count, whichever timeout ends it', async () => {
  const { first, upstream } = await pair();
  for (let index = 0; index < 5; index += 1) {
    first.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {}\n\n');
    };
    const reply = await sendRequest(upstream, { streamed: true });
    const broken = Promise.withResolvers<void>();
    reply.consume({ onChunk: () => false, onEnd: () => undefined, onError: () => broken.resolve() });
    first.closeAll();
    reply.resume();
    await broken.promise;
  }
  first.answer = (response) => json(response, { ok: true });
  expect(await triedBy(upstream)).toEqual(['first']);
});

/** How a consumer comes to know that a reply is no answer. */
const READERS: Readonly<Record<string, (reply: Reply) => Promise<unknown>>> = {
  'after its end': (reply) => reply.bytes(MAX_BYTES),
  'in its middle': async () => undefined,
  'when it has left the rest': async (reply) => reply.cancel(),
};

test.for(Object.entries(READERS))(
  'a channel whose replies turn out to be no answers, %s, gets no more requests',
  async ([, read]) => {
    const { upstream } = await pair();
    for (let index = 0; index < 2; index += 1) {
      const reply = await sendRequest(upstream);
      expect(reply.candidate.channel.name).toBe('first');
      await read(reply);
      reply.unreadable('no answer');
      // It counts once.
      reply.unreadable('no answer');
    }
    expect(await triedBy(upstream)).toEqual(['second']);
  },
);

test('a reply that takes longer than the whole time allows does not count', async () => {
  const second = await startProvider();
  const first = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {}\n\n');
  });
  const upstream = await startUpstream({
    first: { origin: first.origin, settings: `${settings}, timeouts: { totalMs: 200 }` },
    second: { origin: second.origin },
  });
  for (let index = 0; index < 3; index += 1) {
    const reply = await sendRequest(upstream, { streamed: true });
    expect(reply.candidate.channel.name).toBe('first');
    await expect(reply.bytes(MAX_BYTES)).rejects.toMatchObject({ code: 'upstream_timeout' });
  }
});

test('a channel whose cooldown is off is tried every time', async () => {
  const [first, second] = [await startProvider(error(500, {})), await startProvider()];
  const upstream = await startUpstream({
    first: { origin: first.origin, settings: 'cooldown: off' },
    second: { origin: second.origin },
  });
  for (let index = 0; index < 10; index += 1) await triedBy(upstream);
  expect(first.requests).toHaveLength(10);
});

test('an account that is limited rests, and the other accounts of its channel serve', async () => {
  const provider = await startProvider((response, { headers }) =>
    headers.authorization === 'Bearer sk-of-the-first-account'
      ? json(response, {}, 429, { 'retry-after': '1000' })
      : json(response, { ok: true }),
  );
  const parse = (keys: string) =>
    parseConfiguration(
      `channels: { both: { provider: openai, baseUrl: "${provider.origin}/v1", apiKeys: { ${keys} } } }
models: { small: { kind: text, routes: [{ channel: both }] } }`,
      'gateway.yaml',
      {},
    );
  const configuration = parse('one: sk-of-the-first-account, two: sk-of-the-second-account');
  const upstream = createUpstream({ configuration, random: () => 0 });
  for (let index = 0; index < 20; index += 1) await triedBy(upstream);
  expect(upstream.health.resting()).toMatchObject([
    { account: 'one', scope: 'model', cause: 'rate-limited' },
  ]);
  expect(provider.requests).toHaveLength(21);
  upstream.replace(parse('two: sk-of-the-second-account'));
  expect(upstream.health.resting()).toEqual([]);
  await upstream.destroy();
});

test('a probe that is not sent, because its request failed before, lets another follow at once', async () => {
  const provider = await startProvider(error(429, {}, { 'retry-after-ms': '20' }));
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  await refusal(upstream);
  const model = upstream.resolveModel('small') ?? expect.fail();
  const [candidate] = upstream.candidates({ model, protocol: 'responses' });
  if (candidate === undefined) expect.fail();
  await waitFor(() => !upstream.health.isResting(candidate));
  await refusal(upstream, { request: () => Promise.reject(new Error('ours')) });
  expect(upstream.health.isResting(candidate)).toBe(false);
});
