import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterEach, expect, test } from 'vitest';
import { PLAIN, type Stack, startStack } from '../testing/start-stack.ts';

let stack: Stack;
afterEach(() => stack?.[Symbol.asyncDispose]());

const CREATE = { type: 'response.create', model: 'gpt-5.2', input: 'hi', store: false };
const REFUSED = {
  type: 'error',
  status: 503,
  code: 'server_is_overloaded',
  error: { headers: { 'retry-after': expect.stringMatching(/^[1-4]$/), 'x-should-retry': 'true' } },
};

const socketOf = async (priority: 'low' | 'normal' | 'high') => {
  const { secret } = await stack.text.keys.createKey({ name: priority, priority });
  return stack.text.webSocket(secret);
};
const page = () => stack.text.metrics.registry.metrics();
const atRest = () =>
  waitFor(async () => {
    const metrics = await page();
    return ['requests', 'body_bytes'].every((what) =>
      metrics.includes(`gateway_${what}_in_flight{service="text"} 0\n`),
    );
  });

test('more responses than the service takes on are refused by the priority of their key, and no connection is lost', async () => {
  stack = await startStack({ configuration: PLAIN, load: { MAX_REQUESTS_IN_FLIGHT: 10 } });
  const gate = createGate();
  using low = await socketOf('low');
  using normal = await socketOf('normal');
  using high = await socketOf('high');
  const sockets = { low, normal, high };
  const begun: { readonly socket: typeof low; readonly lane: string }[] = [];
  const begin = async (count: number, socket: typeof low) => {
    while (begun.length < count) {
      const lane = `lane-${begun.length}`;
      stack.first.script({ gate: gate.opened });
      socket.send({ ...CREATE, stream_id: lane });
      begun.push({ socket, lane });
      await waitFor(() => stack.first.requests.length === begun.length);
    }
  };
  const refused = async (socket: typeof low) => {
    socket.send({ ...CREATE, stream_id: 'refused' });
    expect((await socket.answer('refused')).at(-1)).toMatchObject({ ...REFUSED, stream_id: 'refused' });
  };
  await begin(7, low);
  await refused(low);
  await begin(9, normal);
  await refused(normal);
  // What only prepares is as much work for this service.
  normal.send({ ...CREATE, generate: false });
  expect((await normal.answer()).at(-1)).toMatchObject(REFUSED);
  await begin(10, high);
  await refused(high);
  expect(stack.first.requests).toHaveLength(10);
  for (const [priority, count] of [
    ['low', 1],
    ['normal', 2],
    ['high', 1],
  ])
    expect(await page()).toContain(
      `gateway_shed_total{reason="requests_in_flight",priority="${priority}",service="text"} ${count}\n`,
    );

  gate.open();
  for (const { socket, lane } of begun)
    expect((await socket.answer(lane)).at(-1)).toMatchObject({ type: 'response.completed' });
  await atRest();
  for (const socket of Object.values(sockets)) {
    socket.send(CREATE);
    expect((await socket.answer()).at(-1)).toMatchObject({ type: 'response.completed' });
  }
});

test('events hold memory as bodies do, and give it back', async () => {
  stack = await startStack({ configuration: PLAIN, load: { MAX_BODY_BYTES_IN_FLIGHT: 1000 } });
  const gate = createGate();
  using socket = await socketOf('normal');
  stack.first.script({ gate: gate.opened });
  socket.send({ ...CREATE, input: 'x'.repeat(2000), stream_id: 'large' });
  await waitFor(() => stack.first.requests.length === 1);
  socket.send(CREATE);
  expect((await socket.answer()).at(-1)).toMatchObject(REFUSED);
  expect(await page()).toContain(
    'gateway_shed_total{reason="body_bytes",priority="normal",service="text"} 1\n',
  );
  gate.open();
  await socket.answer('large');
  await atRest();
  socket.send(CREATE);
  expect((await socket.answer()).at(-1)).toMatchObject({ type: 'response.completed' });
});

test('an event that waits for its lane holds memory too, and gives it back whether it runs or is left', async () => {
  stack = await startStack({ configuration: PLAIN, load: { MAX_BODY_BYTES_IN_FLIGHT: 4000 } });
  const gate = createGate();
  using socket = await socketOf('normal');
  using other = await socketOf('normal');
  const long = { ...CREATE, input: 'x'.repeat(2000), stream_id: 'busy' };
  stack.first.script({ gate: gate.opened });
  socket.send({ ...CREATE, stream_id: 'busy' });
  await waitFor(() => stack.first.requests.length === 1);
  socket.send(long);
  socket.send(long);
  expect((await socket.answer('busy')).at(-1)).toMatchObject({ ...REFUSED, stream_id: 'busy' });
  // What waits on one connection is memory that another one does not get.
  other.send(long);
  expect((await other.answer('busy')).at(-1)).toMatchObject(REFUSED);
  expect(await page()).toContain(
    'gateway_shed_total{reason="body_bytes",priority="normal",service="text"} 2\n',
  );
  gate.open();
  for (const _ of ['running', 'waiting'])
    expect((await socket.answer('busy')).at(-1)).toMatchObject({ type: 'response.completed' });
  await atRest();

  stack.first.script({ gate: new Promise(() => undefined) });
  socket.send(CREATE);
  await waitFor(() => stack.first.requests.length === 3);
  socket.send({ ...long, stream_id: undefined });
  const held = /gateway_body_bytes_in_flight\{service="text"\} 2\d{3}\n/;
  await waitFor(async () => held.test(await page()));
  socket.connection.resetAndDestroy();
  await atRest();
});

test('what a full service refuses counts on no limit of its key', async () => {
  stack = await startStack({ configuration: PLAIN, load: { MAX_REQUESTS_IN_FLIGHT: 1 } });
  const { secret } = await stack.text.keys.createKey({
    name: 'limited',
    priority: 'high',
    limits: { requestsPerMinute: 2 },
  });
  using socket = await stack.text.webSocket(secret);
  const gate = createGate();
  stack.first.script({ gate: gate.opened });
  socket.send({ ...CREATE, stream_id: 'held' });
  await waitFor(() => stack.first.requests.length === 1);
  socket.send(CREATE);
  expect((await socket.answer()).at(-1)).toMatchObject(REFUSED);
  gate.open();
  await socket.answer('held');
  await atRest();
  socket.send(CREATE);
  expect((await socket.answer()).at(-1)).toMatchObject({ type: 'response.completed' });
});

/** The head of a frame of a client's, with a mask of zeros, of which only the beginning comes. */
function frameHead(length: number): Buffer {
  const head = Buffer.alloc(14);
  head[0] = 0x81;
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

test('messages that never end hold memory as bodies do: what is too much of a key ends its connection', async () => {
  const MB = 1024 * 1024;
  stack = await startStack({ configuration: PLAIN, load: { MAX_BODY_BYTES_IN_FLIGHT: 4 * MB } });
  const { secret } = await stack.text.keys.createKey({ name: 'attacker' });
  const sockets = await Promise.all(Array.from({ length: 6 }, () => stack.text.webSocket(secret)));
  const ended = sockets.map(({ closed }) => closed.then(() => 'ended'));
  for (const { connection } of sockets) {
    connection.on('error', () => undefined);
    connection.write(frameHead(30 * MB));
    for (let sent = 0; sent < 20; sent += 1) connection.write(Buffer.alloc(MB / 4));
  }
  await Promise.all(ended.slice(1));
  const held = async () =>
    Number(/gateway_body_bytes_in_flight\{service="text"\} (\d+)/.exec(await page())?.[1] ?? 0);
  expect(await held()).toBeLessThan(8 * MB);
  using other = await socketOf('normal');
  if ((await held()) < 4 * MB) {
    other.send(CREATE);
    expect((await other.answer()).at(-1)).toMatchObject({ type: 'response.completed' });
  }
  for (const { connection } of sockets) connection.destroy();
  await atRest();
});

test('a message that takes too long ends its connection, and control frames between messages do not', async () => {
  stack = await startStack({
    configuration: PLAIN,
    webSockets: { TEXT_WEBSOCKET_PING_MS: 200, TEXT_WEBSOCKET_MESSAGE_MS: 300 },
  });
  using slow = await socketOf('normal');
  using idle = await socketOf('normal');
  slow.connection.write(frameHead(1000));
  await slow.closed;
  const closed = 'gateway_websockets_closed_total{reason="slow",service="text"} 1\n';
  await waitFor(async () => (await page()).includes(closed));
  idle.send(CREATE);
  expect((await idle.answer()).at(-1)).toMatchObject({ type: 'response.completed' });
});

test('what connections remember is bounded for all of them: the oldest is forgotten', async () => {
  stack = await startStack({ configuration: PLAIN, load: { MAX_BODY_BYTES_IN_FLIGHT: 100_000 } });
  const warm = async (socket: Awaited<ReturnType<typeof socketOf>>) => {
    socket.send({ ...CREATE, input: 'x'.repeat(30_000), generate: false });
    return Object((await socket.answer()).at(-1)?.response).id;
  };
  const next = async (socket: Awaited<ReturnType<typeof socketOf>>, id: unknown) => {
    socket.send({ ...CREATE, previous_response_id: id });
    return (await socket.answer()).at(-1);
  };
  using first = await socketOf('normal');
  using second = await socketOf('high');
  const ids = [await warm(first), await warm(second)];
  expect(await next(first, ids[0])).toMatchObject({ code: 'previous_response_not_found' });
  expect(await next(second, ids[1])).toMatchObject({ type: 'response.completed' });
});
