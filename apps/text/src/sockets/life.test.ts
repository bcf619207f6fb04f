import { GATEWAY_ITSELF } from '@gateway/metering/audit/audit-log';
import { recordedStream } from '@gateway/simulator/recorded-stream';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PLAIN, type Stack, startStack } from '../testing/start-stack.ts';

let stack: Stack;
beforeEach(async () => {
  stack = await startStack({ configuration: PLAIN });
});
afterEach(() => stack[Symbol.asyncDispose]());

const CREATE = { type: 'response.create', model: 'gpt-5.2', input: 'hi', store: false };
const sse = recordedStream('responses-text');
const never = new Promise<void>(() => undefined);

/** Three pings without an answer cut a connection: in a busy process that must be longer than it is late. */
const restartedWith = async (webSockets: Record<string, number>): Promise<void> => {
  await stack[Symbol.asyncDispose]();
  stack = await startStack({ configuration: PLAIN, webSockets });
};
const metric = async (name: string): Promise<string> =>
  (await stack.text.metrics.registry.metrics()).split('\n').find((line) => line.startsWith(name)) ?? '';

test('a process that stops lets what runs finish, refuses the rest, and closes with 1012', async () => {
  const gate = Promise.withResolvers<void>();
  stack.first.script({ sse, stallAfter: 5, resume: gate.promise });
  using socket = await stack.text.webSocket();
  using idle = await stack.text.webSocket();
  socket.send({ ...CREATE, stream_id: 'a' });
  await waitFor(() => socket.events.length === 5);
  socket.send({ ...CREATE, stream_id: 'a', input: 'it waits' });
  socket.send({ type: 'response.steer', previous_response_id: 'resp_x', input: 'x' });
  await socket.answer();
  stack.text.stop();
  expect((await idle.closed).code).toBe(1012);
  await waitFor(() => socket.events.some(({ type }) => type === 'error'));
  expect(socket.events.find(({ type }) => type === 'error')).toMatchObject({
    status: 503,
    code: 'shutting_down',
    stream_id: 'a',
    error: { headers: { 'retry-after': '1' } },
  });
  socket.send(CREATE);
  expect((await socket.answer()).at(-1)).toMatchObject({ status: 503, code: 'shutting_down' });
  gate.resolve();
  expect((await socket.closed).code).toBe(1012);
  expect(socket.events.at(-1)).toMatchObject({ type: 'response.completed', stream_id: 'a' });
});

test('what still runs at the drain deadline fails, and then the connection closes with 1012', async () => {
  stack.first.script({ sse, stallAfter: 5, resume: never });
  using socket = await stack.text.webSocket();
  socket.send(CREATE);
  await waitFor(() => socket.events.length === 5);
  stack.text.stop();
  stack.text.passDeadline();
  expect((await socket.closed).code).toBe(1012);
  expect(socket.events.at(-1)).toMatchObject({
    type: 'response.failed',
    response: { error: { code: expect.any(String) } },
  });
  const [request] = stack.first.requests;
  expect(await request?.closed).toBe('aborted');
});

test('an edge that stops closes with 1012 what it has passed on, after what runs', async () => {
  const gate = Promise.withResolvers<void>();
  stack.first.script({ sse, stallAfter: 5, resume: gate.promise });
  using socket = await stack.text.webSocket();
  socket.send(CREATE);
  await waitFor(() => socket.events.length === 5);
  socket.connection.end();
  gate.resolve();
  expect((await socket.closed).code).toBe(1012);
  expect(socket.events.at(-1)).toMatchObject({ type: 'response.completed' });
});

test.for([
  ['ends', {}],
  ['stays open', { stallAfter: 10, resume: never }],
] as const)(
  'a caller who closes as soon as it has the last event was answered, where the stream of its provider %s then',
  async ([, more]) => {
    stack.first.script({ sse, ...more });
    using socket = await stack.text.webSocket();
    socket.webSocket.on('message', (data) => {
      if (String(data).includes('"response.completed"')) socket.webSocket.terminate();
    });
    socket.send(CREATE);
    await socket.closed;
    const line = await waitFor(() => stack.text.lines.find(({ transport }) => transport === 'websocket'));
    expect(line).toMatchObject({ outcome: 'ok', status: 200 });
  },
);

test('a revoked key is refused at its next response, and its connection closes with 1008', async () => {
  const { secret, record } = await stack.text.keys.createKey({ name: 'short-lived' });
  using socket = await stack.text.webSocket(secret);
  socket.send(CREATE);
  expect((await socket.answer()).at(-1)).toMatchObject({ type: 'response.completed' });
  await stack.text.keys.revokeKey(record.id);
  let last: unknown;
  await waitFor(async () => {
    if (socket.webSocket.readyState !== socket.webSocket.OPEN) return true;
    socket.send(CREATE);
    last = (await socket.answer()).at(-1);
    return Object(last).type === 'error';
  });
  expect(last).toMatchObject({ type: 'error', status: 401, code: 'invalid_api_key' });
  expect((await socket.closed).code).toBe(1008);
});

test('a secret that was rotated away is refused like a revoked key', async () => {
  const { secret, record } = await stack.text.keys.createKey({ name: 'rotated' });
  using socket = await stack.text.webSocket(secret);
  await stack.text.keys.rotateKey(record.id, 0, GATEWAY_ITSELF);
  socket.send(CREATE);
  expect((await socket.answer()).at(-1)).toMatchObject({ status: 401, code: 'invalid_api_key' });
  expect((await socket.closed).code).toBe(1008);
});

test('each response counts on the requests per minute of its key, and reports what is left', async () => {
  const { secret } = await stack.text.keys.createKey({
    name: 'limited',
    limits: { requestsPerMinute: 2 },
  });
  using socket = await stack.text.webSocket(secret);
  for (const input of ['one', 'two']) {
    socket.send({ ...CREATE, input });
    expect((await socket.answer()).at(-1)).toMatchObject({ type: 'response.completed' });
  }
  socket.send(CREATE);
  expect((await socket.answer()).at(-1)).toMatchObject({
    type: 'error',
    status: 429,
    code: 'rate_limit_exceeded',
    error: {
      headers: {
        'x-ratelimit-limit-requests': '2',
        'x-ratelimit-remaining-requests': '0',
        'retry-after': expect.stringMatching(/^\d+$/),
      },
    },
  });
  expect(await metric('gateway_refused_total{reason="requests_per_minute"')).toMatch(/ 1$/);
});

test('running responses take the concurrent requests of their key, and give them back', async () => {
  const { secret } = await stack.text.keys.createKey({ name: 'narrow', limits: { concurrentRequests: 1 } });
  using socket = await stack.text.webSocket(secret);
  const gate = Promise.withResolvers<void>();
  stack.first.script({ sse, stallAfter: 5, resume: gate.promise });
  socket.send({ ...CREATE, stream_id: 'a' });
  await waitFor(() => socket.events.length === 5);
  socket.send({ ...CREATE, stream_id: 'b' });
  expect((await socket.answer('b')).at(-1)).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
  gate.resolve();
  await socket.answer('a');
  await waitFor(async () => {
    socket.send({ ...CREATE, stream_id: 'b' });
    return (await socket.answer('b')).at(-1)?.type === 'response.completed';
  });
});

test('a warm-up counts on the requests per minute of its key', async () => {
  const { secret } = await stack.text.keys.createKey({ name: 'warm', limits: { requestsPerMinute: 1 } });
  using socket = await stack.text.webSocket(secret);
  socket.send({ ...CREATE, generate: false });
  expect((await socket.answer()).at(-1)).toMatchObject({ type: 'response.completed' });
  socket.send({ ...CREATE, generate: false });
  expect((await socket.answer()).at(-1)).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
});

test.for([
  ['as it is', {}],
  ['mended', { model: 'nope' }],
] as const)(
  'what a limit did not let in can be sent again %s: the response before it is remembered',
  async ([, fault]) => {
    const { secret, record } = await stack.text.keys.createKey({
      name: 'again',
      limits: { requestsPerMinute: 1 },
    });
    using socket = await stack.text.webSocket(secret);
    socket.send(CREATE);
    const { id } = Object((await socket.answer()).at(-1)?.response);
    const next = { ...CREATE, previous_response_id: id };
    socket.send({ ...next, ...fault });
    expect((await socket.answer()).at(-1)).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    await stack.text.keys.updateKey(record.id, () => ({ name: 'again' }), GATEWAY_ITSELF);
    await waitFor(async () => {
      socket.send(next);
      return (await socket.answer()).at(-1)?.type === 'response.completed';
    });
    expect(stack.first.requests).toHaveLength(2);
  },
);

test('limits and money of a response take one round trip to Redis before its provider is called', async () => {
  const { secret } = await stack.text.keys.createKey({
    name: 'counted',
    limits: { requestsPerMinute: 10, concurrentRequests: 2, tokensPerMinute: 100_000 },
  });
  using socket = await stack.text.webSocket(secret);
  const gate = Promise.withResolvers<void>();
  stack.first.script({ gate: gate.promise });
  const monitor = await stack.redis.monitor();
  const commands: string[][] = [];
  monitor.on('monitor', (_time, command: string[]) => commands.push(command));
  socket.send(CREATE);
  await waitFor(() => stack.first.requests.length === 1);
  await stack.redis.echo('the provider has been called');
  await waitFor(() => commands.some(([name]) => name === 'echo'));
  monitor.disconnect();
  const scripts = commands.filter(([name, , , key]) => name?.startsWith('eval') && key?.includes('{meter}'));
  expect(scripts).toHaveLength(1);
  gate.resolve();
  expect((await socket.answer()).at(-1)).toMatchObject({ type: 'response.completed' });
});

test('an idle connection is closed with 1001', async () => {
  await restartedWith({ TEXT_WEBSOCKET_PING_MS: 200, TEXT_WEBSOCKET_IDLE_MS: 100 });
  using socket = await stack.text.webSocket();
  expect((await socket.closed).code).toBe(1001);
  await waitFor(async () => (await metric('gateway_websockets_closed_total{reason="idle"')).endsWith(' 1'));
  expect(await metric('gateway_websockets_open')).toMatch(/ 0$/);
});

test('at its maximum age a connection sends an event, lets what runs finish, and closes with 1001', async () => {
  await restartedWith({ TEXT_WEBSOCKET_PING_MS: 500, TEXT_WEBSOCKET_LIFE_MS: 400 });
  const gate = Promise.withResolvers<void>();
  stack.first.script({ sse, stallAfter: 5, resume: gate.promise });
  using socket = await stack.text.webSocket();
  socket.send({ ...CREATE, stream_id: 'a' });
  expect((await socket.answer()).at(-1)).toMatchObject({
    type: 'error',
    status: 400,
    code: 'websocket_connection_limit_reached',
  });
  socket.send(CREATE);
  expect((await socket.answer()).at(-1)).toMatchObject({ code: 'websocket_connection_limit_reached' });
  gate.resolve();
  expect((await socket.closed).code).toBe(1001);
  expect(socket.events.at(-1)).toMatchObject({ type: 'response.completed', stream_id: 'a' });
});

test('a client that gives no sign of life is cut off, and its upstream request aborted', async () => {
  await restartedWith({ TEXT_WEBSOCKET_PING_MS: 200 });
  stack.first.script({ sse, stallAfter: 5, resume: never });
  using socket = await stack.text.webSocket();
  socket.send(CREATE);
  await waitFor(() => socket.events.length === 5);
  socket.webSocket.pause();
  const [request] = stack.first.requests;
  expect(await request?.closed).toBe('aborted');
  await waitFor(async () => (await metric('gateway_websockets_closed_total{reason="silent"')).endsWith(' 1'));
});

test('a client that does not read holds its upstream back, and gets everything when it reads', async () => {
  const count = 4000;
  const delta = JSON.stringify({ type: 'response.output_text.delta', delta: 'x'.repeat(8000) });
  const [begin = '', ...rest] = sse.toString().split(/(?<=\n\n)/);
  const long = [begin, ...Array.from({ length: count }, () => `data: ${delta}\n\n`), ...rest].join('');
  using slow = await stack.text.webSocket();
  using quick = await stack.text.webSocket();
  for (const reply of [{ sse: long }, { sse: long }]) stack.first.script(reply);
  slow.connection.pause();
  slow.send(CREATE);
  const [request] = await waitFor(() => stack.first.requests.length === 1 && stack.first.requests);
  quick.send(CREATE);
  const events = await quick.answer();
  expect(events.length).toBeGreaterThan(count);
  expect(await Promise.race([request?.closed, Promise.resolve('held back')])).toBe('held back');
  slow.connection.resume();
  expect(await slow.answer()).toEqual(events);
  expect(await request?.closed).toBe('complete');
});

test('a client that sends without reading the answers is cut off', async () => {
  using socket = await stack.text.webSocket();
  socket.connection.pause();
  const steer = JSON.stringify({
    type: 'response.steer',
    previous_response_id: 'resp_x',
    input: 'x'.repeat(1024 * 1024),
  });
  for (let sent = 0; sent < 64; sent += 1) socket.webSocket.send(steer);
  await waitFor(async () => (await metric('gateway_websockets_closed_total{reason="flood"')).endsWith(' 1'));
});
