import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRaw } from '../testing/raw-connection.ts';
import { rawExchange, rawRequest } from '../testing/raw-request.ts';
import { KEY, type RunningEdge, runEdge } from '../testing/run-edge.ts';
import { type StandInService, startStandInService } from '../testing/stand-in-service.ts';

/** Requests that could be read in two ways, or not at all. */

let redis: TestRedis;
let service: StandInService;
let edge: RunningEdge;

beforeAll(async () => {
  redis = await startRedis();
  service = await startStandInService();
  const { url } = service;
  edge = await runEdge({
    REDIS_URL: redis.url,
    TEXT_URL: url,
    IMAGE_URL: url,
    AUDIO_URL: url,
    RETRIEVAL_URL: url,
  });
});
afterAll(async () => {
  await edge.stop();
  await service.close();
  await redis.close();
});

test.for([
  ['GET', '/v1/images/assets/%zz'],
  ['GET', '/v1/models/%zz'],
  ['DELETE', '/v1/responses/%zz'],
  ['POST', '/v1/responses/%/cancel'],
  ['GET', '/v1/models/%e2%28%a1'],
  ['GET', '/v1/models/a%00b'],
  ['GET', '/v1/models/a%0d%0ab'],
  ['POST', '/v1/messages/%zz'],
  ['GET', '/%zz'],
  ['GET', 'http://h/v1/models'],
  ['GET', 'http://[x'],
  ['OPTIONS', '*'],
] as const)('%s %s is a 400 in the protocol, with or without a key, and reaches no service', async (row) => {
  const [method, target] = row;
  const before = service.requests.length;
  for (const headers of ['', `Authorization: Bearer ${KEY}\r\n`]) {
    const reply = await rawRequest(edge.port, `${method} ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.body)).toMatchObject(
      target.startsWith('/v1/messages')
        ? { type: 'error', error: { type: 'invalid_request_error' } }
        : { error: { type: 'invalid_request_error', code: null } },
    );
  }
  expect(service.requests).toHaveLength(before);
  expect(edge.output.join('\n')).not.toMatch(/URIError| at \w+ \(/);
});

test.for([
  '//v1/models',
  '/v1//models',
  '/v1/responses/../models',
  '/v1/models/%2e%2e',
  '/v1/models#x',
  '/V1/models',
])('%s means no other path than its text', async (path) => {
  const before = service.requests.length;
  const reply = await rawRequest(
    edge.port,
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`,
  );
  expect(reply.status).toBe(404);
  expect(service.requests).toHaveLength(before);
});

test.for([
  'GET /v1/mo\x01dels HTTP/1.1',
  'GET /v1/models/\xff HTTP/1.1',
  'GET /v1/models HTTP/2.0',
  'GET /v1/models',
  'GET\t/v1/models HTTP/1.1',
  'get /v1/models HTTP/1.1',
  'GET /v1/models HTTP/1.1\nX-A: 1',
  'GET /v1/models HTTP/1.1\r\nX-A: 1\r\n 2',
  'GET /v1/models HTTP/1.1\r\nX-A: 1\r2',
  'GET /v1/models HTTP/1.1\r\nX-A: \0',
  'GET /v1/models HTTP/1.1\r\nX A: 1',
  'POST /v1/responses HTTP/1.0\r\nTransfer-Encoding: chunked',
])('%j is a 400 before it reaches a service', async (head) => {
  const before = service.requests.length;
  const reply = await rawRequest(
    edge.port,
    `${head}\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n0\r\n\r\n`,
  );
  expect(reply.status).toBe(400);
  expect(JSON.parse(reply.body)).toMatchObject({ error: { type: 'invalid_request_error' } });
  expect(service.requests).toHaveLength(before);
});

const NEXT = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
const CHUNKED = 'Transfer-Encoding: chunked';
const UPGRADE = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==`;

test.for<[string, string, string]>([
  ['a coding that is not chunked', 'POST', 'Transfer-Encoding: identity\r\n\r\nabc'],
  ['an unknown coding', 'POST', 'Transfer-Encoding: xchunked\r\n\r\nabc'],
  ['a coding before chunked', 'POST', 'Transfer-Encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n'],
  [
    'chunked before another coding',
    'POST',
    'Transfer-Encoding: chunked, identity\r\n\r\n1\r\na\r\n0\r\n\r\n',
  ],
  ['chunked twice', 'POST', `${CHUNKED}\r\n${CHUNKED}\r\n\r\n0\r\n\r\n`],
  ['a length and a coding', 'POST', `Content-Length: 3\r\n${CHUNKED}\r\n\r\n0\r\n\r\n`],
  ['two lengths', 'POST', 'Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc'],
  ['a folded line', 'POST', 'Content-Length:\r\n 3\r\n\r\nabc'],
  ['an unknown method', 'BREW', 'Content-Length: 0\r\n\r\n'],
  ['an unknown expectation', 'POST', 'Expect: tea\r\nContent-Length: 3\r\n\r\nabc'],
  ['a body where none may be', 'GET', 'Content-Length: 3\r\n\r\nabc'],
  ['an upgrade with a body', 'GET', `${UPGRADE}\r\nContent-Length: 3\r\n\r\nabc`],
  ['a chunk without a length', 'POST', `${CHUNKED}\r\n\r\nzz\r\na\r\n0\r\n\r\n`],
  ['a broken chunk in two packets', 'POST', `${CHUNKED}\r\n\r\n1\r\na|zz\r\n`],
])('%s: one answer, then the connection ends', async ([, method, rest]) => {
  for (const key of ['', `Authorization: Bearer ${KEY}\r\n`]) {
    const head = `${method} /v1/responses HTTP/1.1\r\nHost: x\r\n${key}`;
    const [first = '', second] = `${head}${rest}${NEXT}${NEXT}`.split('|');
    const connection = openRaw(edge.port, first);
    if (second !== undefined) {
      if (key === '') await connection.until('}');
      connection.socket.write(second);
    }
    await connection.closed;
    expect(connection.received.match(/HTTP\/1\.1 4\d\d /g)).toHaveLength(1);
    expect(connection.received).not.toContain('HTTP/1.1 200');
  }
});

test('a good request before a malformed one on its connection has its own answer', async () => {
  const both = `GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\nPOST /v1/responses HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n`;
  const answers = (await rawExchange(edge.port, both)).match(/HTTP\/1\.1 \d\d\d /g);
  expect(answers?.map((line) => line.trim())).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
});

test.for<[string, string]>([
  ['HTTP/1.0', 'GET /v1/models HTTP/1.0\r\n\r\n'],
  ['a coding in HTTP/1.0', `POST /v1/responses HTTP/1.0\r\n${CHUNKED}\r\n\r\n0\r\n\r\n`],
  [
    'an offer of another protocol',
    'GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n',
  ],
  ['a connection to be closed', 'GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
])(
  '%s: what comes behind the last request of a connection is neither answered nor its answer',
  async ([, text]) => {
    for (const key of ['', `Authorization: Bearer ${KEY}\r\n`]) {
      const connection = openRaw(edge.port, text.replace('\r\n', `\r\n${key}`) + NEXT);
      await connection.closed;
      expect(connection.received.match(/HTTP\/1\.1 \d\d\d /g)).toHaveLength(1);
      expect(connection.received.startsWith('HTTP/1.1 200')).toBe(key !== '' && text.startsWith('GET'));
    }
  },
);

test('what comes without an end behind an answer is read on for a while only, by its bytes', async () => {
  const piece = `${(1024 * 1024).toString(16)}\r\n${'x'.repeat(1024 * 1024)}\r\n`;
  const metricsPort = Number(new URL(edge.metricsUrl).port);
  for (const [port, head, headers = CHUNKED] of [
    [edge.port, 'POST /v1/responses'],
    [edge.port, 'POST /v1/images/edits'],
    [edge.port, 'POST /healthz'],
    [metricsPort, 'POST /nothing'],
    [edge.port, 'GET /v1/responses', UPGRADE],
    [edge.port, 'GET /v1/models', UPGRADE],
    [edge.port, 'GET /healthz', UPGRADE],
    [metricsPort, 'GET /nothing', UPGRADE],
  ] as const) {
    const connection = openRaw(port, `${head} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${piece}`);
    const { socket } = connection;
    const send = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('connect', send).on('drain', send);
    await connection.closed;
    // Bytes that nobody reads any more can cost the answer, by a reset.
    if (headers === CHUNKED) expect(connection.received).toMatch(/^HTTP\/1\.1 4/);
    expect(socket.bytesWritten).toBeLessThan(100 * 1024 * 1024);
  }
});
