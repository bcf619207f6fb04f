import { MISSING_PATHS } from '@gateway/contracts/endpoints/missing-paths';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { handshake } from './testing/raw-connection.ts';
import { rawExchange, rawRequest } from './testing/raw-request.ts';
import { bearer, KEY, type RunningEdge, runEdge } from './testing/run-edge.ts';
import { type StandInService, startStandInService } from './testing/stand-in-service.ts';

let redis: TestRedis;
let services: Record<'text' | 'image' | 'audio' | 'retrieval', StandInService>;
let edge: RunningEdge;

beforeAll(async () => {
  redis = await startRedis();
  const [text, image, audio, retrieval] = await Promise.all([
    startStandInService(),
    startStandInService(),
    startStandInService(),
    startStandInService(),
  ]);
  services = { text, image, audio, retrieval };
  edge = await runEdge({
    REDIS_URL: redis.url,
    TEXT_URL: text.url,
    IMAGE_URL: image.url,
    AUDIO_URL: audio.url,
    RETRIEVAL_URL: retrieval.url,
    EDGE_CORS_ORIGINS: 'https://app.example, https://other.example',
  });
});
afterAll(async () => {
  await edge.stop();
  await Promise.all(Object.values(services).map((service) => service.close()));
  await redis.close();
});

const call = (method: string, path: string, headers: Record<string, string> = bearer) =>
  fetch(edge.url + path, { method, headers });

test.for([
  ['POST', '/v1/responses', 'text'],
  ['DELETE', '/v1/responses/resp_1', 'text'],
  ['POST', '/v1/messages', 'text'],
  ['POST', '/v1/images/edits', 'image'],
  ['POST', '/v1/audio/speech', 'audio'],
  ['POST', '/v1/embeddings', 'retrieval'],
] as const)('%s %s goes to the %s service', async ([method, path, service]) => {
  expect((await call(method, path)).status).toBe(200);
  expect(services[service].requests.at(-1)).toMatchObject({ method, url: path });
});

test('HEAD is routed like GET', async () => {
  const response = await call('HEAD', '/v1/responses/resp_1');
  expect(response.status).toBe(200);
  expect(services.text.requests.at(-1)).toMatchObject({ method: 'HEAD' });
});

test('an unknown path is a 404 in the right dialect, for callers with a key; others get a 401 first', async () => {
  const openai = await call('POST', '/v1/no-such-thing?x=1');
  expect(openai.status).toBe(404);
  expect(await openai.json()).toEqual({
    error: {
      message: 'Invalid URL (POST /v1/no-such-thing)',
      type: 'invalid_request_error',
      param: null,
      code: null,
    },
  });
  const anthropic = await call('POST', '/v1/messages/no/such/thing');
  expect(anthropic.status).toBe(404);
  expect(await anthropic.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } });
  expect((await call('POST', '/v1/no-such-thing', {})).status).toBe(401);
  expect((await call('GET', '/elsewhere', {})).status).toBe(404);
});

test('each path that clients of other servers call is a 404 with words on what to do', async () => {
  for (const { paths, says } of MISSING_PATHS)
    for (const path of paths.map((pattern) => pattern.replace(/\{\w+\}/, 'some_id'))) {
      const response = await call('POST', path);
      expect(response.status, path).toBe(404);
      expect(await response.json()).toMatchObject({
        error: { message: `Invalid URL (POST ${path}). ${says}` },
      });
    }
  expect((await call('POST', '/v1/assistants', {})).status).toBe(401);
});

test('a wrong method is a 405 that names the right ones, in the right dialect', async () => {
  const openai = await call('PUT', '/v1/responses/resp_1');
  expect(openai.status).toBe(405);
  expect(openai.headers.get('allow')).toBe('GET, DELETE, HEAD, OPTIONS');
  expect(await openai.json()).toMatchObject({ error: { code: 'method_not_supported' } });
  const anthropic = await call('GET', '/v1/messages');
  expect(anthropic.status).toBe(405);
  expect(await anthropic.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
});

test.for([
  ['HEAD', '/'],
  ['GET', '/'],
  ['HEAD', '/api/hello'],
  ['GET', '/healthz'],
  ['GET', '/readyz'],
])('%s %s answers without a key, and reveals nothing', async ([method = '', path = '']) => {
  const response = await call(method, path, {});
  expect(response.status).toBe(200);
  expect(await response.text()).toBe(method === 'HEAD' ? '' : '{"status":"ok"}');
  expect(response.headers.get('x-powered-by')).toBeNull();
});

test("metrics are on a port of their own, not on the callers'", async () => {
  expect((await call('GET', '/metrics', {})).status).toBe(404);
  expect(await (await fetch(edge.metricsUrl)).text()).toContain('gateway_requests_total');
});

test('a page of an allowed origin may call the gateway with any headers of its client library', async () => {
  const origin = 'https://app.example';
  const preflight = await call('OPTIONS', '/v1/responses', {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, x-stainless-lang',
  });
  expect(preflight.status).toBe(204);
  expect(Object.fromEntries(preflight.headers)).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'POST, OPTIONS',
    'access-control-allow-headers': 'authorization, x-stainless-lang',
  });
  const served = await call('POST', '/v1/responses', { ...bearer, origin });
  expect(served.headers.get('access-control-allow-origin')).toBe(origin);
  const refused = await call('POST', '/v1/responses', { origin });
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, origin]);
});

test('a page of any other origin may not', async () => {
  const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
  const preflight = await call('OPTIONS', '/v1/responses', headers);
  expect(preflight.headers.get('allow')).toBe('POST, OPTIONS');
  expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
});

const bodyOf = (response: string) => JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4));
const filler = `X-Filler: ${'x'.repeat(40_000)}`;

test('headers over 32 KB are a 431 with a body', async () => {
  const response = await rawExchange(
    edge.port,
    `POST /v1/responses HTTP/1.1\r\nHost: x\r\n${filler}\r\n\r\n`,
  );
  expect(response).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
  expect(bodyOf(response)).toMatchObject({ error: { code: 'request_headers_too_large' } });
});

test('headers just below 32 KB pass', async () => {
  const response = await call('POST', '/v1/responses', { ...bearer, 'x-filler': 'x'.repeat(31_000) });
  expect(response.status).toBe(200);
});

test('bytes that are not HTTP are a 400 with a body', async () => {
  const response = await rawExchange(edge.port, 'this is not http\r\n\r\n');
  expect(response).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(response).toContain('\r\nconnection: close\r\n');
  expect(bodyOf(response)).toMatchObject({ error: { message: 'The request is not valid HTTP.' } });
});

test('a request whose framing is ambiguous is refused before a service sees it', async () => {
  const before = services.text.requests.length;
  const response = await rawExchange(
    edge.port,
    `POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  );
  expect(response).toMatch(/^HTTP\/1\.1 400 /);
  expect(services.text.requests).toHaveLength(before);
});

test('headers that do not arrive, and bodies that do not end, are a 408', async () => {
  const { port, stop } = await runEdge({
    REDIS_URL: redis.url,
    TEXT_URL: services.text.url,
    EDGE_REQUEST_TIMEOUT_MS: '300',
  });
  const slowHeaders = await rawExchange(port, 'POST /v1/responses HTTP/1.1\r\nHost: x\r\n');
  expect(slowHeaders).toMatch(/^HTTP\/1\.1 408 /);
  expect(bodyOf(slowHeaders)).toMatchObject({ error: { code: 'request_timeout' } });
  const slowBody = await rawExchange(
    port,
    `POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: 5\r\n\r\n12`,
  );
  expect(slowBody).toMatch(/^HTTP\/1\.1 408 /);
  expect(bodyOf(slowBody)).toMatchObject({ type: 'error' });
  await stop();
});

test('a body whose framing breaks is a 400 while the service is still waiting for it', async () => {
  const response = await rawExchange(
    edge.port,
    `POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nnonsense\r\n`,
  );
  expect(response).toMatch(/^HTTP\/1\.1 400 /);
  expect(bodyOf(response)).toMatchObject({ error: { type: 'invalid_request_error' } });
});

test('a body whose framing breaks while its key is being looked up is a 400 that no service sees', async () => {
  const { url, port, stop } = await runEdge({ REDIS_URL: redis.url, TEXT_URL: services.text.url });
  const before = services.text.requests.length;
  const response = await rawExchange(
    port,
    `POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nnonsense\r\n`,
  );
  expect(response).toMatch(/^HTTP\/1\.1 400 /);
  expect((await fetch(`${url}/v1/models`, { headers: bearer })).status).toBe(200);
  expect(services.text.requests.slice(before).map(({ method }) => method)).toEqual(['GET']);
  await stop();
});

test('a path of its own is no id: other methods are refused there', async () => {
  const response = await call('GET', '/v1/responses/compact');
  expect(response.status).toBe(405);
  expect(response.headers.get('allow')).toBe('POST, OPTIONS');
});

test('an offer of another protocol is ignored', async () => {
  const reply = await rawRequest(edge.port, handshake('/v1/models', { upgrade: 'h2c' }));
  expect(reply.status).toBe(200);
});
