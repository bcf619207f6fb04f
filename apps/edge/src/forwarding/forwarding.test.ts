import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { createIdentityVerifier } from '@gateway/service-kit/identity/identity-token';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { rawExchange } from '../testing/raw-request.ts';
import { bearer, GATEWAY_SECRET, KEY, type RunningEdge, runEdge } from '../testing/run-edge.ts';
import { answerOk, type StandInService, startStandInService } from '../testing/stand-in-service.ts';

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
beforeEach(() => {
  service.requests.length = 0;
  service.reply(answerOk);
});

const post = (path: string, init: RequestInit = {}) =>
  fetch(edge.url + path, { method: 'POST', body: '{}', ...init, headers: { ...bearer, ...init.headers } });

const lastRequest = (): IncomingMessage => {
  const last = service.requests.at(-1);
  if (last === undefined) throw new Error('the service got no request');
  return last;
};

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test('an upload of 5 MB reaches the service byte for byte, with or without its length', async () => {
  const upload = randomBytes(5 * 1024 * 1024);
  const received: string[] = [];
  service.reply((request, response) => {
    const hash = createHash('sha256');
    request.on('data', (chunk) => hash.update(chunk));
    request.on('end', () => {
      received.push(hash.digest('hex'));
      response.end();
    });
  });
  await post('/v1/audio/transcriptions', { body: upload });
  expect(lastRequest().headers['content-length']).toBe(String(upload.length));
  const stream = new Blob([upload]).stream();
  await post('/v1/audio/transcriptions', { body: stream, duplex: 'half' });
  expect(lastRequest().headers['transfer-encoding']).toBe('chunked');
  expect(received).toEqual([digest(upload), digest(upload)]);
});

test('a reply of any bytes comes back byte for byte, with its headers, status and reason', async () => {
  const body = randomBytes(3 * 1024 * 1024);
  service.reply((_request, response) => {
    response.writeHead(299, 'Very Well', [
      'X-Odd-Name',
      'a',
      'X-Odd-Name',
      'b',
      'Content-Type',
      'audio/mpeg',
    ]);
    response.end(body);
  });
  const response = await post('/v1/audio/speech');
  expect([response.status, response.statusText]).toEqual([299, 'Very Well']);
  expect(response.headers.get('x-odd-name')).toBe('a, b');
  expect(response.headers.get('content-type')).toBe('audio/mpeg');
  expect(digest(await response.bytes())).toBe(digest(body));
});

test('an event stream arrives chunk by chunk, its headers before its first event', async () => {
  let reply: ServerResponse | undefined;
  service.reply((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    reply = response;
  });
  const response = await post('/v1/responses');
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const reader = response.body?.getReader();
  for (const event of ['event: a\ndata: 1\n\n', ': ping\n\n', 'data: [DONE]\n\n']) {
    reply?.write(event);
    const { value } = (await reader?.read()) ?? {};
    expect(Buffer.from(value ?? []).toString()).toBe(event);
  }
  reply?.end();
  expect((await reader?.read())?.done).toBe(true);
});

test('path and query are passed on unchanged', async () => {
  await post('/v1/messages?beta=true&x=%2F+y');
  expect(lastRequest().url).toBe('/v1/messages?beta=true&x=%2F+y');
  await fetch(`${edge.url}/v1/responses/resp_%41/input_items?after=1`, { headers: bearer });
  expect(lastRequest().url).toBe('/v1/responses/resp_%41/input_items?after=1');
});

test("the caller's credentials, connection headers and claims of identity are removed; all else is passed on", async () => {
  await rawExchange(
    edge.port,
    [
      'POST /v1/responses HTTP/1.1',
      'Host: gateway.example',
      `Authorization: Bearer ${KEY}`,
      'X-Api-Key: something',
      'Cookie: session=1',
      'Proxy-Authorization: Basic eDp5',
      'X-Gateway-Identity: forged',
      'X-Gateway-Anything: forged',
      'X-Gateway-Strict: true',
      'X-Gateway-Label: nightly',
      'X-Forwarded-For: 1.2.3.4',
      'Forwarded: for=1.2.3.4',
      'X-Request-Id: my-own-request-id',
      'X-Named-By-Connection: 1',
      'TE: trailers',
      'Upgrade: websocket',
      'Keep-Alive: timeout=5',
      'Connection: close, X-Named-By-Connection, upgrade',
      'Anthropic-Beta: one',
      'Anthropic-Beta: two',
      'Content-Type: application/json',
      'Content-Length: 2',
      '',
      '{}',
    ].join('\r\n'),
  );
  const { headers } = lastRequest();
  expect(headers).toEqual({
    host: 'gateway.example',
    connection: 'keep-alive',
    'x-gateway-edge': expect.stringMatching(/^[\w-]{43}$/),
    'x-gateway-strict': 'true',
    'x-gateway-label': 'nightly',
    'x-gateway-identity': expect.stringMatching(/^[\w-]+\.[\w-]+$/),
    'x-request-id': 'my-own-request-id',
    'x-gateway-delivery': expect.stringMatching(/^req_[0-9a-f]{32}$/),
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'http',
    'anthropic-beta': 'one, two',
    'content-type': 'application/json',
    'content-length': '2',
  });
});

test('a service gets the caller as an identity that only the edge can sign', async () => {
  await post('/v1/responses');
  const verify = createIdentityVerifier({ secret: GATEWAY_SECRET, now: Date.now });
  expect(verify(String(lastRequest().headers['x-gateway-identity']))).toMatchObject({
    keyId: expect.stringMatching(/^key_/),
    keyName: 'bootstrap',
    team: null,
    models: null,
    endpoints: null,
    accounts: [],
  });
});

test('a signed URL needs no key and has no identity', async () => {
  const response = await fetch(`${edge.url}/v1/images/assets/asset_1?signature=x`, {
    headers: { 'x-gateway-identity': 'forged' },
  });
  expect(response.status).toBe(200);
  expect(lastRequest().headers['x-gateway-identity']).toBeUndefined();
});

test("both request id headers have the caller's id if it is valid, else a new one, and nothing names a server", async () => {
  service.reply((_request, response) => {
    response.writeHead(200, {
      'x-request-id': "the service's",
      'request-id': "the service's",
      server: 'inner/1.0',
      'x-powered-by': 'Express',
      'keep-alive': 'timeout=1',
    });
    response.end('{}');
  });
  const own = await post('/v1/responses', { headers: { 'x-request-id': 'my-own-request-id' } });
  expect(own.headers.get('x-request-id')).toBe('my-own-request-id');
  expect(own.headers.get('request-id')).toBe('my-own-request-id');
  expect(own.headers.get('server')).toBeNull();
  expect(own.headers.get('x-powered-by')).toBeNull();
  expect(own.headers.get('keep-alive')).not.toBe('timeout=1');
  const odd = await post('/v1/responses', { headers: { 'x-request-id': 'with "odd" characters' } });
  expect(odd.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  expect(lastRequest().headers['x-request-id']).toBe(odd.headers.get('request-id'));
});

test('a caller who waits for 100 Continue gets it only with a valid key', async () => {
  const head = (key: string) =>
    `POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n`;
  const socket = connect(edge.port, '127.0.0.1');
  socket.setEncoding('latin1');
  socket.write(head(KEY));
  const [interim] = await once(socket, 'data');
  expect(interim).toMatch(/^HTTP\/1\.1 100 Continue/);
  socket.write('body');
  const [final] = await once(socket, 'data');
  expect(final).toMatch(/^HTTP\/1\.1 200 OK/);
  expect(lastRequest().headers.expect).toBeUndefined();

  const refused = await rawExchange(edge.port, head('a-wrong-key-that-is-long-enough'));
  expect(refused).toMatch(/^HTTP\/1\.1 401 /);
});

test('a refusal that comes before the upload has ended can be read by the caller', async () => {
  service.reply((request, response) => {
    response.writeHead(413, { 'content-type': 'application/json' }).end('{"error":"too large"}');
    request.resume();
  });
  const upload = httpRequest(`${edge.url}/v1/images/edits`, {
    method: 'POST',
    headers: { ...bearer, 'content-length': 64 * 1024 * 1024 },
  });
  upload.write(randomBytes(1024 * 1024));
  const [response]: IncomingMessage[] = await once(upload, 'response');
  expect(response?.statusCode).toBe(413);
  expect(Buffer.concat((await response?.toArray()) ?? []).toString()).toBe('{"error":"too large"}');
  upload.on('error', () => undefined);
  upload.destroy();
});

test.for(['leaves', 'is answered'])(
  'an upload without a length whose caller %s half-way never looks complete to the service',
  async (what) => {
    const closed = new Promise<IncomingMessage>((resolve) => {
      service.reply((request, response) => {
        request.once('data', () => {
          if (what === 'leaves') upload.destroy();
          else response.writeHead(413, { 'content-length': 2 }).end('{}');
        });
        request.on('error', () => undefined);
        request.socket.once('close', () => resolve(request));
      });
    });
    const upload = httpRequest(`${edge.url}/v1/images/edits`, { method: 'POST', headers: bearer });
    upload.on('error', () => undefined);
    upload.write('a part');
    expect(await closed).toMatchObject({ complete: false });
    upload.destroy();
  },
);

test('a refusal by the edge itself can be read while the caller is still sending', async () => {
  const upload = httpRequest(`${edge.url}/v1/images/edits`, {
    method: 'POST',
    headers: { 'content-length': 64 * 1024 * 1024 },
  });
  upload.write(randomBytes(1024 * 1024));
  const [response]: IncomingMessage[] = await once(upload, 'response');
  expect(response?.statusCode).toBe(401);
  upload.on('error', () => undefined);
  upload.destroy();
});

test('a caller who leaves before the first byte ends the request to the service', async () => {
  const closed = new Promise((resolve) => {
    service.reply((_request, response) => {
      response.once('close', resolve);
      leaving.abort();
    });
  });
  const leaving = new AbortController();
  const headers = { 'x-request-id': 'request-left-before' };
  await expect(post('/v1/responses', { signal: leaving.signal, headers })).rejects.toThrow('abort');
  await closed;
  expect(await edge.logLine('request-left-before')).toMatchObject({ outcome: 'left', status: 499 });
});

test('a caller who leaves after the first byte ends the request to the service', async () => {
  const closed = new Promise((resolve) => {
    service.reply((_request, response) => {
      response.once('close', resolve);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    });
  });
  const headers = { 'x-request-id': 'request-left-after' };
  const response = await post('/v1/responses', { headers });
  const reader = response.body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  await reader?.cancel();
  await closed;
  expect(await edge.logLine('request-left-after')).toMatchObject({ outcome: 'left', status: 499 });
});

test('a slow reader slows the service down instead of filling the memory of the edge', async () => {
  let written = 0;
  let stalled = false;
  service.reply((_request, response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    const chunk = Buffer.alloc(64 * 1024);
    const write = () => {
      while (written < 256 * 1024 * 1024) {
        written += chunk.length;
        if (!response.write(chunk)) {
          stalled = true;
          return;
        }
      }
    };
    response.on('drain', () => {
      stalled = false;
      write();
    });
    write();
  });
  const request = httpRequest(`${edge.url}/v1/audio/speech`, { method: 'POST', headers: bearer });
  request.end('{}');
  const [response]: IncomingMessage[] = await once(request, 'response');
  response?.pause();
  let before = -1;
  let steadyChecks = 0;
  await waitFor(() => {
    steadyChecks = stalled && written === before ? steadyChecks + 1 : 0;
    before = written;
    return steadyChecks === 30;
  });
  expect(written).toBeLessThan(64 * 1024 * 1024);
  request.on('error', () => undefined);
  response?.on('error', () => undefined);
  request.destroy();
});
