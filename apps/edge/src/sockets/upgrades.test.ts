import type { IncomingMessage } from 'node:http';
import { Identity } from '@gateway/contracts/identity';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { handshake, openRaw, type RawConnection, rawConnection } from '../testing/raw-connection.ts';
import { rawRequest } from '../testing/raw-request.ts';
import { KEY, type RunningEdge, runEdge } from '../testing/run-edge.ts';
import { type StandInService, startStandInService } from '../testing/stand-in-service.ts';

const PATH = '/v1/responses';
const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n';

let redis: TestRedis;
let text: StandInService;
let other: StandInService;
let edge: RunningEdge;
/** The handshakes that the service got, and the bytes on their connections. */
let upgraded: { readonly request: IncomingMessage; readonly connection: RawConnection }[];
const settings = (changed: Record<string, string> = {}) => ({
  REDIS_URL: redis.url,
  TEXT_URL: text.url,
  IMAGE_URL: other.url,
  AUDIO_URL: other.url,
  RETRIEVAL_URL: other.url,
  EDGE_CORS_ORIGINS: 'https://app.example',
  EDGE_MAX_WEBSOCKETS_PER_KEY: '2',
  ...changed,
});

beforeAll(async () => {
  redis = await startRedis();
  [text, other] = await Promise.all([startStandInService(), startStandInService()]);
  text.server.on('upgrade', (request) => {
    const connection = rawConnection(request.socket);
    upgraded.push({ request, connection });
    connection.socket.write(`${SWITCHED}sec-websocket-accept: proof\r\nx-inner: no\r\n\r\nhello`);
  });
  edge = await runEdge(settings());
});
afterAll(async () => {
  await edge.stop();
  await Promise.all([text.close(), other.close()]);
  await redis.close();
});
beforeEach(() => {
  upgraded = [];
  return () => {
    for (const { connection } of upgraded) connection.socket.destroy();
  };
});

/** A caller's end and the service's of one WebSocket. */
async function open(port = edge.port, sent = handshake(PATH)) {
  const before = upgraded.length;
  const caller = openRaw(port, sent);
  await caller.until('hello');
  const service = upgraded[before];
  if (service === undefined) throw new Error('the service got no handshake');
  return { caller, ...service };
}

test('bytes pass in both directions after the handshake, and the caller sees nothing inner', async () => {
  const { caller, request, connection } = await open(edge.port, `${handshake(`${PATH}?a=b`)}early`);
  caller.socket.write(' and late');
  await connection.until('early and late');
  connection.socket.write(' there');
  await caller.until('hello there');
  const [head = ''] = caller.received.split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 101 /);
  expect(head).toContain('sec-websocket-accept: proof');
  expect(head).not.toContain('x-inner');
  expect(request.url).toBe(`${PATH}?a=b`);
  expect(request.rawHeaders[0]).toBe('x-gateway-edge');
  expect(request.headers).toMatchObject({ upgrade: 'websocket', 'sec-websocket-version': '13' });
  expect(JSON.stringify(request.rawHeaders)).not.toContain(KEY);
  const [payload = ''] = String(request.headers['x-gateway-identity']).split('.');
  const { identity } = JSON.parse(Buffer.from(payload, 'base64url').toString());
  expect(Identity.parse(identity).secretHash).toEqual(expect.any(String));
  caller.socket.destroy();
  await connection.closed;
});

test.for([
  ['no key', { authorization: undefined }, 401, null],
  ['a wrong key', { authorization: 'Bearer nobody-knows-this-key-at-all' }, 401, 'invalid_api_key'],
  ['another version', { 'sec-websocket-version': '8' }, 426, 'upgrade_refused'],
  ['no nonce', { 'sec-websocket-key': 'x' }, 400, null],
  ["a foreign page's origin", { origin: 'https://evil.example' }, 403, 'origin_not_allowed'],
  ['a body', { 'content-length': '5' }, 400, null],
] as const)('a handshake with %s gets %s, and no service hears of it', async ([, headers, status, code]) => {
  const reply = await rawRequest(edge.port, handshake(PATH, headers));
  expect([reply.status, JSON.parse(reply.body)]).toMatchObject([status, { error: { code } }]);
  expect(upgraded).toHaveLength(0);
});

test('a realtime handshake goes to the audio service, with a key among its subprotocols and without passing it on', async () => {
  const [handshakes, caller] = await new Promise<[IncomingMessage[], RawConnection]>((resolve) => {
    const got: IncomingMessage[] = [];
    other.server.once('upgrade', (request) => {
      got.push(request);
      request.socket.end(`${SWITCHED}sec-websocket-protocol: realtime\r\n\r\n`);
      resolve([got, opened]);
    });
    const sent = {
      authorization: undefined,
      'sec-websocket-protocol': `realtime, openai-insecure-api-key.${KEY}, openai-project.p`,
    };
    const opened = openRaw(edge.port, handshake('/v1/realtime?model=m', sent));
  });
  await caller.closed;
  expect(caller.received).toContain('sec-websocket-protocol: realtime\r\n');
  expect(handshakes[0]?.headers['sec-websocket-protocol']).toBe('realtime');
  expect(JSON.stringify(handshakes[0]?.rawHeaders)).not.toContain(KEY);
  // Elsewhere a key does not come in so.
  const elsewhere = { authorization: undefined, 'sec-websocket-protocol': `openai-insecure-api-key.${KEY}` };
  expect((await rawRequest(edge.port, handshake(PATH, elsewhere))).status).toBe(401);
  expect((await rawRequest(edge.port, handshake('/v1/realtime', { authorization: undefined }))).status).toBe(
    401,
  );
});

test('on every other path a handshake is a 404', async () => {
  for (const path of ['/v1/realtime/calls', '/v1/models', '/v1/images/assets/a', '/v1/responses/resp_1'])
    expect((await rawRequest(edge.port, handshake(path))).status).toBe(404);
  expect(upgraded).toHaveLength(0);
});

test('switched off, a handshake gets 426 after its key is checked, and no service hears of it', async () => {
  const without = await runEdge(settings({ EDGE_WEBSOCKETS: 'false' }));
  const reply = await rawRequest(without.port, handshake(PATH));
  const unknown = await rawRequest(without.port, handshake(PATH, { authorization: undefined }));
  await without.stop();
  expect([reply.status, JSON.parse(reply.body)]).toMatchObject([
    426,
    { error: { code: 'upgrade_refused', message: expect.stringContaining('POST /v1/responses') } },
  ]);
  expect(unknown.status).toBe(401);
  expect(upgraded).toHaveLength(0);
});

test.for([
  ['a page of an allowed origin', { origin: 'https://app.example' }],
  [
    "a client that sends the gateway's own origin",
    { host: 'gw.example:8080', origin: 'http://gw.example:8080' },
  ],
] as const)('%s may open one', async ([, headers]) => {
  await open(edge.port, handshake(PATH, headers));
});

test("a refusal of the service's is passed on, and nothing that the caller sent with the handshake", async () => {
  const refusing = await startStandInService();
  refusing.reply((_request, response) => response.writeHead(503, { 'retry-after': '1' }).end('{"error":{}}'));
  const edgeOfIt = await runEdge(settings({ TEXT_URL: refusing.url }));
  const smuggled = 'POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n';
  const reply = await rawRequest(edgeOfIt.port, handshake(PATH) + smuggled);
  expect(reply).toMatchObject({ status: 503 });
  await edgeOfIt.stop();
  expect(refusing.requests).toHaveLength(1);
  await refusing.close();
});

test('with no service that answers, the caller gets a 503 with Retry-After', async () => {
  const gone = await startStandInService();
  await gone.close();
  const without = await runEdge(settings({ TEXT_URL: gone.url }));
  const reply = await rawRequest(without.port, handshake(PATH));
  await without.stop();
  expect([reply.status, JSON.parse(reply.body)]).toMatchObject([
    503,
    { error: { code: 'service_unavailable' } },
  ]);
});

test('a key has a bounded number open, and one that ends frees its slot', async () => {
  const [first] = [await open(), await open()];
  const refused = await rawRequest(edge.port, handshake(PATH));
  expect([refused.status, JSON.parse(refused.body)]).toMatchObject([
    429,
    { error: { code: 'rate_limit_exceeded' } },
  ]);
  first.caller.socket.destroy();
  await waitFor(async () => (await rawRequest(edge.port, handshake(PATH))).status === 101);
});

test('a handshake after a request whose reply is under way ends the connection', async () => {
  text.reply((request) => void request.resume());
  const post = `POST ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\ncontent-length: 2\r\n\r\n{}`;
  const caller = openRaw(edge.port, post + handshake(PATH));
  await caller.closed;
  expect(caller.received).toBe('');
  expect(upgraded).toHaveLength(0);
});

test('it has one line in the log, when it ends', async () => {
  const { caller, connection } = await open(edge.port, handshake(PATH, { 'x-request-id': 'socket-to-log' }));
  connection.socket.end();
  await caller.closed;
  expect(await edge.logLine('socket-to-log')).toMatchObject({
    method: 'GET',
    path: '/v1/responses (websocket)',
    status: 101,
    outcome: 'ok',
    forwardedTo: 'text',
  });
});

test('an edge that stops lets the service finish, and then ends', async () => {
  const stopping = await runEdge(settings());
  const { caller, connection } = await open(stopping.port);
  const halfClosed = new Promise((resolve) => connection.socket.once('end', resolve));
  const code = stopping.stop();
  await halfClosed;
  connection.socket.end(' the rest');
  await caller.until('hello the rest');
  await caller.closed;
  expect(await code).toBe(0);
});
