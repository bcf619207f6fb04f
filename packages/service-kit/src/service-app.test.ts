import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { GatewayError } from '@gateway/contracts/gateway-error';
import pino from 'pino';
import { afterEach, expect, test } from 'vitest';
import { LoadSettings, parseConfig } from './config.ts';
import { audioHandlers, closeServers, identity, serveAudio, signed, token } from './fixtures/serve-audio.ts';
import { createReadiness } from './life/readiness.ts';
import { createLoadGuard } from './load/load-guard.ts';
import { createProcessLoad } from './load/process-load.ts';
import { createMetrics } from './metrics.ts';
import { type Handler, sendJson } from './request/handler.ts';
import { CallerLeft, contextOf, identityOf } from './request/request-context.ts';
import { createRequestLog } from './request/request-log.ts';
import { createService } from './service-app.ts';

afterEach(closeServers);

const post = (url: string, init: RequestInit = {}) =>
  fetch(`${url}/v1/audio/speech?beta=true`, { method: 'POST', headers: signed, ...init });

test("a handler gets the caller's identity and the edge's request id", async () => {
  const { url } = await serveAudio({
    speech: (request, response) =>
      sendJson(response, { identity: identityOf(request), requestId: contextOf(request).requestId }),
  });
  expect(await (await post(url)).json()).toEqual({ identity, requestId: 'req_from_the_edge' });
});

test.for([{}, { 'x-gateway-identity': `${token}x` }])(
  'a request whose identity the edge did not sign is refused: %j',
  async (headers) => {
    const { url } = await serveAudio({});
    expect((await post(url, { headers })).status).toBe(401);
  },
);

test('each request logs one line with who, what and how it ended, without the query', async () => {
  const { url, lines } = await serveAudio({
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

test("a handler's error becomes the reply, and its cause stays in the log", async () => {
  const { url, lines } = await serveAudio({
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
  const { url, lines } = await serveAudio({
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
  const { url, lines } = await serveAudio({
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
  const { url, deadline } = await serveAudio({
    speech: (request, response) => {
      contextOf(request).signal.addEventListener('abort', () => response.end('last words'));
      deadline.abort(new Error('drain deadline passed'));
    },
  });
  expect(await (await post(url)).text()).toBe('last words');
});

test('readiness names what is missing; health and metrics need no identity', async () => {
  const { url, readiness } = await serveAudio({});
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

test('a failure before the endpoint is known is an error of the protocol and a line in the log', async () => {
  const { url, lines } = await serveAudio({});
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

test.for(['http://[', 'http://', '*'])('a target that is no path is refused: %s', async (target) => {
  const { url, lines } = await serveAudio({});
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.end(`OPTIONS ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
  const reply = await text(socket);
  expect(reply).toMatch(/^HTTP\/1\.1 400 .*application\/json.*begins with '\/'/s);
  await expect.poll(() => lines, { timeout: 20_000 }).toHaveLength(1);
});

test('a service does not start with an endpoint without a handler, or a handler without an endpoint', () => {
  const metrics = createMetrics('audio');
  const options = {
    service: 'audio' as const,
    readiness: createReadiness(),
    metrics,
    requestLog: createRequestLog({ logger: pino({ level: 'silent' }), metrics }),
    verifyIdentity: () => undefined,
    deadline: new AbortController().signal,
    load: createLoadGuard({
      settings: parseConfig(LoadSettings, {}),
      process: createProcessLoad(),
      metrics,
      onShed: () => undefined,
    }),
  };
  const handler: Handler = (_request, response) => void response.end();
  expect(() => createService({ ...options, handlers: { 'POST /v1/audio/speech': handler } })).toThrow(
    'no handler for POST /v1/audio/transcriptions',
  );
  expect(() =>
    createService({
      ...options,
      handlers: { ...audioHandlers(handler), 'POST /v1/other': handler },
    }),
  ).toThrow('handlers without an endpoint: POST /v1/other');
});

test('an internal error is retryable, unless the work may have been done and paid for', async () => {
  const { url } = await serveAudio({
    speech: (request) => {
      contextOf(request).mayBePaid = true;
      throw new TypeError('x is not a function');
    },
    transcriptions: () => {
      throw new TypeError('x is not a function');
    },
  });
  const post = (path: string) => fetch(`${url}/v1/audio/${path}`, { method: 'POST', headers: signed });
  const [paid, begun] = [await post('speech'), await post('transcriptions')];
  expect([paid.status, begun.status]).toEqual([500, 500]);
  expect(paid.headers.get('x-should-retry')).toBe('false');
  expect(await paid.text()).toMatch(/may have been done and billed/);
  expect(begun.headers.get('x-should-retry')).toBe('true');
});
