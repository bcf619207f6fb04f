import type { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { muteOrigin, startProvider, startUpstream } from '../provider-for-tests.ts';
import type { Reply } from '../replies/reply.ts';
import type { Upstream } from '../upstream.ts';
import { buildTimeLimits } from './time-limits.ts';

const sendRequest = (
  upstream: Upstream,
  {
    protocol = 'responses',
    ...more
  }: { work?: 'paid' | 'charged'; signal?: AbortSignal; protocol?: 'responses' | 'images' } = {},
): Promise<Reply> => {
  const model = upstream.resolveModel('small');
  if (model === null) throw new Error('no model');
  const operation = protocol === 'images' ? 'images.generations' : protocol;
  const candidates = upstream.candidates({ model, protocol: 'responses' });
  return upstream.send({
    candidates: candidates.map((candidate) => ({ ...candidate, protocol })),
    request: () => ({ operation, method: 'POST', headers: {}, body: '{}' }),
    dialect: 'openai',
    work: 'free',
    streamed: true,
    ...more,
  });
};

const thrownBy = (promise: Promise<unknown>): Promise<GatewayError> =>
  promise.then(
    () => Promise.reject(new Error('it was answered')),
    (thrown) => thrown,
  );

/** Never answers. */
const silence = (): void => undefined;

test('a provider that does not begin to answer in time is replaced by another', async () => {
  const slow = await startProvider(silence);
  const quick = await startProvider();
  const settings = 'timeouts: { firstOutputMs: 30 }';
  const pair = await startUpstream({
    slow: { origin: slow.origin, settings },
    quick: { origin: quick.origin },
  });
  const reply = await sendRequest(pair);
  expect(reply.attempts).toMatchObject([{ outcome: 'timeout', status: null }, { outcome: 'ok' }]);
  await reply.bytes(100);
  await slow.left;

  const alone = await startUpstream({ slow: { origin: slow.origin, settings } });
  expect(await thrownBy(sendRequest(alone))).toMatchObject({ code: 'upstream_timeout', retry: true });
});

test('paid work that did not begin to answer in time is not repeated', async () => {
  const slow = await startProvider(silence);
  const quick = await startProvider();
  const settings = 'timeouts: { firstOutputMs: 30 }';
  const pair = await startUpstream({
    slow: { origin: slow.origin, settings },
    quick: { origin: quick.origin },
  });
  expect(await thrownBy(sendRequest(pair, { work: 'paid' }))).toMatchObject({
    code: 'outcome_unknown',
    retry: false,
  });
  expect(quick.requests).toEqual([]);
});

test.for([
  ['charged', 'upstream_timeout'],
  ['paid', 'outcome_unknown'],
] as const)('after a time limit, %s work is not sent to another channel, nor again', async ([work, code]) => {
  const stalled = async () => {
    const slow = await startProvider((response) => response.writeHead(200).write(' '));
    return { slow, settings: 'timeouts: { idleMs: 30, totalMs: 60 }' };
  };
  for (const { slow, settings } of [
    { slow: await startProvider(silence), settings: 'timeouts: { firstOutputMs: 30 }' },
    { slow: await startProvider(silence), settings: 'timeouts: { totalMs: 30 }' },
    await stalled(),
  ]) {
    const quick = await startProvider();
    const pair = await startUpstream({
      slow: { origin: slow.origin, settings },
      quick: { origin: quick.origin },
    });
    const failing = sendRequest(pair, { work }).then((reply) => reply.bytes(100));
    expect(await thrownBy(failing)).toMatchObject({ code, retry: false });
    expect(quick.requests).toEqual([]);
  }
});

test('charged work that failed, or was never sent, goes to another channel', async () => {
  const quick = await startProvider();
  const broken = await startProvider((response) => response.destroy());
  for (const origin of [broken.origin, await muteOrigin()]) {
    const pair = await startUpstream({
      first: { origin, settings: 'timeouts: { connectMs: 30 }' },
      quick: { origin: quick.origin },
    });
    const reply = await sendRequest(pair, { work: 'charged' });
    expect(reply.attempts).toMatchObject([{ channel: 'first' }, { channel: 'quick', outcome: 'ok' }]);
    await reply.bytes(100);
  }
});

test('work has the time that its kind needs, unless its channel sets another one', () => {
  expect(buildTimeLimits('text')).toEqual({
    firstOutputMs: 60_000,
    wholeOutputMs: 600_000,
    sendingMs: 60_000,
    idleMs: 60_000,
    totalMs: 600_000,
  });
  const shortest = (['image', 'speech', 'transcription'] as const).map((kind) => buildTimeLimits(kind));
  for (const { firstOutputMs, idleMs } of shortest) {
    expect(firstOutputMs).toBeGreaterThanOrEqual(300_000);
    expect(idleMs).toBeGreaterThanOrEqual(120_000);
  }
  expect(buildTimeLimits('image', { firstOutputMs: 5, totalMs: 9 }, { firstOutputMs: 7 })).toMatchObject({
    firstOutputMs: 7,
    wholeOutputMs: 7,
    totalMs: 9,
  });
});

test('a streamed image may take longer than a text from the same channel', async () => {
  const drawn = Promise.withResolvers<void>();
  const provider = await startProvider(async (response, { url }) => {
    if (!url.includes('images')) return;
    await drawn.promise;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: 1\n\n');
  });
  const settings = 'timeouts: { text: { firstOutputMs: 30, idleMs: 30 } }';
  const upstream = await startUpstream({
    one: { origin: provider.origin, settings },
  });
  const image = sendRequest(upstream, { protocol: 'images', work: 'paid' });
  expect(await thrownBy(sendRequest(upstream))).toMatchObject({ code: 'upstream_timeout' });
  drawn.resolve();
  expect((await (await image).bytes(100)).toString()).toBe('data: 1\n\n');
});

test('headers do not count as first output', async () => {
  const slow = await startProvider((response) => response.writeHead(200).flushHeaders());
  const upstream = await startUpstream({
    slow: { origin: slow.origin, settings: 'timeouts: { firstOutputMs: 50 }' },
  });
  expect(await thrownBy(sendRequest(upstream))).toMatchObject({ code: 'upstream_timeout' });
});

test("an error's body that does not come in time is not waited for", async () => {
  const slow = await startProvider((response) => response.writeHead(500).write('{'));
  const upstream = await startUpstream({
    slow: { origin: slow.origin, settings: 'timeouts: { firstOutputMs: 50 }' },
  });
  expect(await thrownBy(sendRequest(upstream))).toMatchObject({ code: 'upstream_timeout' });
});

test('a stream that falls silent ends in an error', async () => {
  const provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  });
  const upstream = await startUpstream({
    one: { origin: provider.origin, settings: 'timeouts: { idleMs: 40 }' },
  });
  const thrown = await thrownBy(sendRequest(upstream).then((reply) => reply.bytes(100)));
  expect(thrown).toMatchObject({ code: 'upstream_timeout', source: 'upstream' });
  await provider.left;
});

test('a stream that never ends is ended, even if it sends events all the time', async () => {
  const provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => response.write('data: 1\n\n'), 5);
    response.once('close', () => clearInterval(timer));
  });
  const upstream = await startUpstream({
    one: { origin: provider.origin, settings: 'timeouts: { idleMs: 5000, totalMs: 60 }' },
  });
  const whole = sendRequest(upstream).then((reply) => reply.bytes(1_000_000));
  expect(await thrownBy(whole)).toMatchObject({ code: 'upstream_timeout' });
  await provider.left;
});

test('a reader who pauses does not count as a provider that fell silent', async () => {
  const settings = 'timeouts: { idleMs: 20 }';
  const readOn = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  const held = await startProvider(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    await readOn.promise;
    response.end('data: 2\n\n', () => sent.resolve());
  });
  const silent = await startProvider((response) => response.writeHead(200).write('x'));
  const paused = await sendRequest(await startUpstream({ one: { origin: held.origin, settings } }));
  const measure = await startUpstream({ one: { origin: silent.origin, settings } });
  let text = '';
  for await (const chunk of paused.body) {
    text += chunk.toString();
    // The same limit, begun later, has run out elsewhere by the time reading goes on.
    await thrownBy(sendRequest(measure).then((reply) => reply.bytes(100)));
    readOn.resolve();
    await sent.promise;
  }
  expect(text).toBe('data: 1\n\ndata: 2\n\n');
});

test('a connection that cannot be made in time is a timeout after which paid work may be retried', async () => {
  const quick = await startProvider();
  const pair = await startUpstream({
    mute: { origin: await muteOrigin(), settings: 'timeouts: { connectMs: 40 }' },
    quick: { origin: quick.origin },
  });
  const reply = await sendRequest(pair, { work: 'paid' });
  expect(reply.attempts).toMatchObject([{ channel: 'mute', outcome: 'timeout' }, { outcome: 'ok' }]);
  await reply.bytes(100);
});
