import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { connectSocket, RefusedHandshake } from '@gateway/testkit/connect-socket';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEY, type RunningEdge, runEdge } from '../testing/run-edge.ts';
import { type StandInService, startStandInService } from '../testing/stand-in-service.ts';
import { ServiceFrames } from './service-frames.ts';

/** Callers of WebSockets whose service is gone. */

const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n';

/** RFC 6455 §1.3 */
const PROOF = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** The service's ends. */
const connections: Socket[] = [];

let redis: TestRedis;
let service: StandInService;
let edge: RunningEdge;
beforeAll(async () => {
  redis = await startRedis();
  service = await startStandInService();
  service.server.on('upgrade', ({ headers, socket }: IncomingMessage) => {
    const accept = createHash('sha1')
      .update(headers['sec-websocket-key'] + PROOF)
      .digest('base64');
    socket.on('error', () => undefined);
    socket.write(`${SWITCHED}sec-websocket-accept: ${accept}\r\n\r\n`);
    connections.push(socket);
  });
  edge = await runEdge({
    REDIS_URL: redis.url,
    ...Object.fromEntries(
      ['TEXT', 'IMAGE', 'AUDIO', 'RETRIEVAL'].map((name) => [`${name}_URL`, service.url]),
    ),
    EDGE_REPLY_IDLE_TIMEOUT_MS: '50',
    EDGE_MAX_WEBSOCKETS_PER_KEY: '1',
  });
});
afterAll(async () => {
  await edge.stop();
  await service.close();
  await redis.close();
});

const PIECE = Buffer.alloc(1024 * 1024);

/** Both ends of one WebSocket, as soon as there is a place for it. */
async function open(path: string, id = 'a-lost-socket') {
  const headers = { authorization: `Bearer ${KEY}`, 'x-request-id': id };
  const connect = () => connectSocket(`http://127.0.0.1:${edge.port}${path}`, headers);
  const caller = await waitFor(() =>
    connect().catch((error: unknown) => {
      if (!(error instanceof RefusedHandshake)) throw error;
      return undefined;
    }),
  );
  const connection = connections.at(-1);
  if (connection === undefined) throw new Error('the service got no handshake');
  return { caller, connection };
}

const text = (json: string) => Buffer.concat([Buffer.from([0x81, json.length]), Buffer.from(json)]);
const CREATED = text('{"type":"session.created"}');

test('a caller whose service is gone gets an error that says so and 1012, as soon as the event under way is whole', async () => {
  const { caller, connection } = await open('/v1/realtime?model=m', 'whose-service-is-gone');
  connection.write(CREATED);
  await waitFor(() => caller.events.length === 1);
  connection.resetAndDestroy();
  expect(await caller.closed).toEqual({ code: 1012, reason: expect.stringContaining('Connect again') });
  expect(caller.events[1]).toMatchObject({
    type: 'error',
    error: {
      type: 'server_error',
      code: 'service_unavailable',
      message: expect.stringContaining('Open another'),
    },
  });
  expect(await edge.logLine('whose-service-is-gone')).toMatchObject({
    status: 101,
    outcome: 'failed',
    'error.code': 'service_unavailable',
  });
});

test('a WebSocket of responses, which has an event for no such thing, is closed with the code and the reason alone', async () => {
  const { caller, connection } = await open('/v1/responses');
  connection.end(CREATED);
  expect((await caller.closed).code).toBe(1012);
  expect(caller.events).toHaveLength(1);
});

test.for([
  ['in the middle of an event nothing can be said', CREATED.subarray(0, 9), 1006],
  ['after a close frame nothing is added', Buffer.from([0x88, 2, 0x03, 0xf0]), 1008],
] as const)('%s', async ([, sent, code]) => {
  const { caller, connection } = await open('/v1/realtime?model=m');
  connection.end(sent);
  expect((await caller.closed).code).toBe(code);
  expect(caller.events).toEqual([]);
});

test('a caller that takes nothing more does not hold its place for good', async () => {
  const { caller, connection } = await open('/v1/realtime?model=m');
  caller.connection.pause();
  // Until the buffers of both connections take no more.
  connection.write(Buffer.from([0x82, 127, 0, 0, 0, 0, 0x20, 0, 0, 0]));
  while (connection.writableLength < 4 * PIECE.length) {
    connection.write(PIECE);
    await new Promise(setImmediate);
  }
  const again = await open('/v1/realtime?model=m');
  again.caller.webSocket.terminate();
  caller.webSocket.terminate();
});

test('the ends of frames are found wherever their bytes are cut', () => {
  const long = Buffer.concat([Buffer.from([0x01, 126, 1, 0]), Buffer.alloc(256, 0x88)]);
  const huge = Buffer.concat([Buffer.from([0x80, 127, 0, 0, 0, 0, 0, 1, 0, 0]), Buffer.alloc(65_536, 0x88)]);
  const all = Buffer.concat([CREATED, long, huge]);
  const ends = new Map([
    [0, 2],
    [CREATED.length, 2],
    [CREATED.length + long.length, 1],
    [all.length, 2],
  ]);
  for (const size of [1, 7, all.length]) {
    const frames = new ServiceFrames();
    const found = new Map<number, number>();
    const note = (at: number) => {
      const { length } = frames.ending('{}', { code: 1012, reason: '' });
      if (length > 0) found.set(at, length);
    };
    note(0);
    for (let at = 0; at < all.length; at += size) {
      frames.take(all.subarray(at, at + size));
      note(Math.min(at + size, all.length));
    }
    const expected = [...ends].filter(([at]) => at % size === 0 || at === all.length);
    expect([size, ...found]).toEqual([size, ...expected]);
    expect(frames.isClosed).toBe(false);
  }
});
