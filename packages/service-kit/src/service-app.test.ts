import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { RequestHandler } from 'express';
import pino from 'pino';
import { afterEach, expect, test } from 'vitest';
import { edgeMark } from './edge-connection.ts';
import { createIdentitySigner, createIdentityVerifier } from './identity-token.ts';
import { createMetrics } from './metrics.ts';
import { createReadiness } from './readiness.ts';
import { CallerLeft, contextOf, identityOf } from './request-context.ts';
import { createRequestLog } from './request-log.ts';
import { createServiceApp } from './service-app.ts';

const SECRET = 'a secret of more than thirty-two characters';
const identity: Identity = {
  keyId: 'key_1',
  keyName: 'test',
  team: null,
  models: null,
  endpoints: null,
  accounts: [],
};
const token = createIdentitySigner({ secret: SECRET, now: Date.now })(identity);
const signed = { 'x-gateway-identity': token, 'x-request-id': 'req_from_the_edge' };

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(handlers: { speech?: RequestHandler; transcriptions?: RequestHandler }) {
  const lines: Record<string, unknown>[] = [];
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const metrics = createMetrics('audio');
  const readiness = createReadiness();
  const deadline = new AbortController();
  const app = createServiceApp({
    service: 'audio',
    readiness,
    metrics,
    requestLog: createRequestLog({ logger: pino({}, sink), metrics }),
    verifyIdentity: createIdentityVerifier({ secret: SECRET, now: Date.now }),
    deadline: deadline.signal,
    handlers: {
      'POST /v1/audio/speech': handlers.speech ?? ((_request, response) => void response.end('spoken')),
      'POST /v1/audio/transcriptions':
        handlers.transcriptions ?? ((_request, response) => void response.end()),
    },
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  return { url, lines, readiness, deadline };
}

const post = (url: string, init: RequestInit = {}) =>
  fetch(`${url}/v1/audio/speech?beta=true`, { method: 'POST', headers: signed, ...init });

test("a handler learns who is calling and the edge's request id", async () => {
  const { url } = await serve({
    speech: (request, response) =>
      void response.json({ identity: identityOf(request), requestId: contextOf(request).requestId }),
  });
  expect(await (await post(url)).json()).toEqual({ identity, requestId: 'req_from_the_edge' });
});

test.for([{}, { 'x-gateway-identity': `${token}x` }])(
  'a request whose identity the edge did not sign is refused: %j',
  async (headers) => {
    const { url } = await serve({});
    expect((await post(url, { headers })).status).toBe(401);
  },
);

test('each request leaves one line that says who, what and how it ended, without the query', async () => {
  const { url, lines } = await serve({
    speech: (request, response) => {
      contextOf(request).line.model = 'tts-1';
      response.end();
    },
  });
  await (await post(url)).text();
  await expect.poll(() => lines, { timeout: 20_000 }).toHaveLength(1);
  expect(lines[0]).toMatchObject({
    method: 'POST',
    path: '/v1/audio/speech',
    requestId: 'req_from_the_edge',
    keyId: 'key_1',
    status: 200,
    outcome: 'ok',
    model: 'tts-1',
  });
  expect(JSON.stringify(lines)).not.toContain('beta');
});

test('what a handler throws becomes the reply, and its cause stays in the log', async () => {
  const { url, lines } = await serve({
    speech: async () => {
      throw new GatewayError('upstream_failed', { message: 'Try again.', cause: new Error('inner cause') });
    },
  });
  const reply = await post(url);
  expect(reply.status).toBe(502);
  expect(await reply.text()).not.toContain('inner cause');
  await expect.poll(() => lines, { timeout: 20_000 }).toHaveLength(1);
  expect(lines[0]).toMatchObject({ outcome: 'failed', status: 502, 'error.code': 'upstream_failed' });
  expect(String(lines[0]?.['error.cause'])).toContain('inner cause');
});

test('a reply that breaks after its start is broken off, and counted as failed', async () => {
  const { url, lines } = await serve({
    speech: async (_request, response) => {
      response.write('half');
      throw new GatewayError('upstream_failed', 'gone');
    },
  });
  await expect(post(url).then((reply) => reply.text())).rejects.toThrow();
  await expect.poll(() => lines, { timeout: 20_000 }).toHaveLength(1);
  expect(lines[0]).toMatchObject({ outcome: 'failed', 'error.code': 'upstream_failed' });
});

test('a caller who leaves is noticed by the handler and counted as 499', async () => {
  const left = Promise.withResolvers<unknown>();
  const begun = Promise.withResolvers<void>();
  const { url, lines } = await serve({
    speech: (request) => {
      const { signal } = contextOf(request);
      signal.addEventListener('abort', () => left.resolve(signal.reason));
      begun.resolve();
    },
  });
  const leaving = new AbortController();
  const reply = post(url, { signal: leaving.signal });
  await begun.promise;
  leaving.abort();
  await expect(reply).rejects.toThrow();
  expect(await left.promise).toBeInstanceOf(CallerLeft);
  await expect.poll(() => lines, { timeout: 20_000 }).toHaveLength(1);
  expect(lines[0]).toMatchObject({ outcome: 'left', status: 499 });
});

test('the drain deadline reaches every running handler', async () => {
  const { url, deadline } = await serve({
    speech: (request, response) => {
      contextOf(request).signal.addEventListener('abort', () => response.end('last words'));
      deadline.abort(new Error('drain deadline passed'));
    },
  });
  expect(await (await post(url)).text()).toBe('last words');
});

test('readiness names what is missing; health and metrics need no identity', async () => {
  const { url, readiness } = await serve({});
  expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: 'unready', missing: ['serving'] });
  readiness.open();
  readiness.check('redis', () => Promise.reject(new Error('down')));
  const unready = await fetch(`${url}/readyz`);
  expect([unready.status, await unready.json()]).toEqual([503, { status: 'unready', missing: ['redis'] }]);
  readiness.check('redis', () => true);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect(await (await fetch(`${url}/metrics`)).text()).toContain('gateway_requests_total');
});

/** Bytes as a wrong edge would send them; resolves to all that comes back until the service ends the connection. */
async function exchange(url: string, texts: readonly string[]): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let received = '';
  socket.setEncoding('latin1');
  for (const text of texts) {
    const replied = once(socket, 'data');
    socket.write(text);
    const [reply] = await Promise.race([replied, once(socket, 'close').then(() => [''])]);
    received += reply;
  }
  if (!socket.destroyed) await once(socket, 'close');
  return received;
}

const MARK = `x-gateway-edge: ${edgeMark(SECRET)}`;
const fromEdge = (line: string, ...headers: string[]) =>
  [`${line} HTTP/1.1`, MARK, 'host: h', `x-gateway-identity: ${token}`, ...headers, '', ''].join('\r\n');
const victim = fromEdge('POST /v1/audio/speech', 'content-length: 0');

test.for([
  'GET /metrics HTTP/1.1\r\nHost: h\r\nX-A: ',
  'GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n',
  'POST /v1/audio/speech HTTP/1.1\r\nx-gateway-edge: a-guess\r\nHost: h\r\nX-A: ',
  'POST /v1/audio/speech HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\nGET /readyz HTTP/1.1\r\nHost: h\r\n\r\n',
])(
  "a caller's bytes %j between two requests of the edge end the connection, and get no reply",
  async (bytes) => {
    const seen: (string | undefined)[] = [];
    const { url, lines } = await serve({
      speech: (request, response) => {
        seen.push(request.headers['x-sender']?.toString());
        response.end('spoken');
      },
    });
    const first = fromEdge('POST /v1/audio/speech', 'content-length: 0', 'x-sender: first');
    const received = await exchange(url, [first, bytes + victim]);
    expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(seen).toEqual(['first']);
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBeGreaterThan(1);
    expect(lines[1]).toMatchObject({
      outcome: 'refused',
      path: 'unknown',
      'error.code': 'malformed_request',
    });
  },
);

test('the edge may use its connection again and again, and others need no mark on theirs', async () => {
  const { url } = await serve({});
  const last = fromEdge('POST /v1/audio/speech', 'content-length: 0', 'connection: close');
  const received = await exchange(url, [victim, victim, last]);
  expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
  const plain = 'GET /healthz HTTP/1.1\r\nhost: h\r\n';
  const unmarked = await exchange(url, [`${plain}\r\n`, `${plain}connection: close\r\n\r\n`]);
  expect(unmarked.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
});

test.for([
  ['GET /metrics', 'content-length: 4', 'body'],
  ['DELETE /v1/audio/speech', 'transfer-encoding: chunked', '0\r\n\r\n'],
  ['POST /v1/audio/speech', 'transfer-encoding: gzip, chunked', '0\r\n\r\n'],
  ['GET http://h/metrics', 'x-any: 1', ''],
  ['GET /v1/audio/%zz', 'x-any: 1', ''],
] as const)(
  'what the edge would not send is a 400, and ends the connection: %j',
  async ([line, header, body]) => {
    const { url, lines } = await serve({});
    const received = await exchange(url, [fromEdge(line, header) + body]);
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    expect(received).toMatch(/^connection: close\r$/im);
    expect(received).toContain('"type":"invalid_request_error"');
    await expect.poll(() => lines, { timeout: 20_000 }).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      outcome: 'refused',
      status: 400,
      requestId: expect.stringMatching(/^req_/),
    });
  },
);

test('what fails before an endpoint is known is an error of the protocol and a line in the log', async () => {
  const { url, lines } = await serve({});
  const reply = await fetch(`${url}/v1/nothing`, { headers: signed });
  expect([reply.status, await reply.json()]).toEqual([
    404,
    {
      error: {
        message: 'Invalid URL (GET /v1/nothing)',
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
    },
  ]);
  await expect.poll(() => lines, { timeout: 20_000 }).toHaveLength(1);
  expect(lines[0]).toMatchObject({ path: 'unknown', status: 404, requestId: 'req_from_the_edge' });
});

test('a service does not start with an endpoint that nobody handles, or a handler that nobody reaches', () => {
  const metrics = createMetrics('audio');
  const options = {
    service: 'audio' as const,
    readiness: createReadiness(),
    metrics,
    requestLog: createRequestLog({ logger: pino({ level: 'silent' }), metrics }),
    verifyIdentity: () => undefined,
    deadline: new AbortController().signal,
  };
  const handler: RequestHandler = (_request, response) => void response.end();
  expect(() => createServiceApp({ ...options, handlers: { 'POST /v1/audio/speech': handler } })).toThrow(
    'no handler for POST /v1/audio/transcriptions',
  );
  expect(() =>
    createServiceApp({
      ...options,
      handlers: {
        'POST /v1/audio/speech': handler,
        'POST /v1/audio/transcriptions': handler,
        'POST /v1/other': handler,
      },
    }),
  ).toThrow('handlers without an endpoint: POST /v1/other');
});
