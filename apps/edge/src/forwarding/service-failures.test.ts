import { createHash, randomBytes } from 'node:crypto';
import { freePort } from '@gateway/testkit/free-port';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { rawExchange } from '../testing/raw-request.ts';
import { bearer, type RunningEdge, runEdge } from '../testing/run-edge.ts';
import { answerOk, type StandInService, startStandInService } from '../testing/stand-in-service.ts';

let redis: TestRedis;
let one: StandInService;
let other: StandInService;
const edges: RunningEdge[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(async () => {
  one = await startStandInService();
  other = await startStandInService();
});
afterEach(async () => {
  await Promise.all([one.close(), other.close()]);
  await Promise.all(edges.splice(0).map((edge) => edge.stop()));
});
afterAll(() => redis.close());

async function edgeTo(urls: string, env: Record<string, string> = {}): Promise<RunningEdge> {
  const edge = await runEdge({
    REDIS_URL: redis.url,
    TEXT_URL: urls,
    IMAGE_URL: urls,
    AUDIO_URL: urls,
    RETRIEVAL_URL: urls,
    ...env,
  });
  edges.push(edge);
  return edge;
}

const post = (edge: RunningEdge, path: string, init: RequestInit = {}) =>
  fetch(edge.url + path, { method: 'POST', body: '{}', ...init, headers: { ...bearer, ...init.headers } });

test('with no service to be found each protocol gets its retryable error', async () => {
  const edge = await edgeTo(`http://127.0.0.1:${await freePort()}`);
  const openai = await post(edge, '/v1/responses');
  expect(openai.status).toBe(503);
  expect(Object.fromEntries(openai.headers)).toMatchObject({
    'retry-after': '1',
    'x-should-retry': 'true',
    'x-gateway-refused-by': 'gateway',
    'content-type': 'application/json',
  });
  expect(await openai.json()).toMatchObject({ error: { type: 'server_error', code: 'service_unavailable' } });
  const anthropic = await post(edge, '/v1/messages');
  expect(anthropic.status).toBe(529);
  expect(await anthropic.json()).toMatchObject({ error: { type: 'overloaded_error' } });
});

test('requests are spread over all addresses of a service', async () => {
  const edge = await edgeTo(`${one.url},${other.url}`);
  for (let n = 0; n < 10; n += 1) await (await post(edge, '/v1/responses')).text();
  expect([one.requests.length, other.requests.length]).toEqual([5, 5]);
});

test('a dead address is skipped without an error and without losing a byte of the upload', async () => {
  const edge = await edgeTo(`http://127.0.0.1:${await freePort()},${one.url}`);
  const received: string[] = [];
  one.reply((request, response) => {
    const hash = createHash('sha256');
    request.on('data', (chunk) => hash.update(chunk));
    request.on('end', () => {
      received.push(hash.digest('hex'));
      response.end('{}');
    });
  });
  const upload = randomBytes(1024 * 1024);
  for (let n = 0; n < 4; n += 1)
    expect((await post(edge, '/v1/audio/transcriptions', { body: upload })).status).toBe(200);
  expect(new Set(received)).toEqual(new Set([createHash('sha256').update(upload).digest('hex')]));
});

test('a service that comes back is used again at once', async () => {
  const edge = await edgeTo(one.url);
  await one.close();
  expect((await post(edge, '/v1/responses')).status).toBe(503);
  one = await startStandInService({ port: one.port });
  expect((await post(edge, '/v1/responses')).status).toBe(200);
});

test('a service that is lost before it answers is reported, and paid work is not to be repeated', async () => {
  const edge = await edgeTo(one.url);
  one.reply((request) => request.socket.destroy());
  const text = await post(edge, '/v1/responses');
  expect([text.status, text.headers.get('x-should-retry')]).toEqual([503, 'true']);
  for (const path of ['/v1/images/generations', '/v1/audio/speech']) {
    const paid = await post(edge, path);
    expect([paid.status, paid.headers.get('x-should-retry')]).toEqual([502, 'false']);
    expect(await paid.json()).toMatchObject({ error: { code: 'outcome_unknown' } });
  }
  expect(one.requests).toHaveLength(3);
});

test.for(['with a length', 'as a stream'])(
  'a reply %s that breaks is cut for the caller, and logged as failed',
  async (how) => {
    const edge = await edgeTo(one.url);
    const headers =
      how === 'as a stream' ? { 'content-type': 'text/event-stream' } : { 'content-length': 1000 };
    let breakOff: (() => void) | undefined;
    one.reply((_request, response) => {
      response.writeHead(200, headers).write('data: 1\n\n');
      breakOff = () => response.destroy();
    });
    const requestId = 'request-that-breaks-off';
    const response = await post(edge, '/v1/responses', { headers: { 'x-request-id': requestId } });
    const reader = response.body?.getReader();
    await reader?.read();
    breakOff?.();
    await expect(reader?.read()).rejects.toThrow();
    expect(await edge.logLine(requestId)).toMatchObject({
      outcome: 'failed',
      status: 200,
      forwardedTo: 'text',
      'error.code': 'service_unavailable',
    });
  },
);

test('a service that does not begin to answer in time is a 504, while a stream that has begun may take its time', async () => {
  const edge = await edgeTo(one.url, { EDGE_SERVICE_TIMEOUT_MS: '200' });
  let finish: (() => void) | undefined;
  one.reply((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    finish = () => response.end('data: 2\n\n');
  });
  const stream = await post(edge, '/v1/responses');
  one.reply(() => undefined);
  const openai = await post(edge, '/v1/responses');
  expect(openai.status).toBe(504);
  expect(await openai.json()).toMatchObject({ error: { code: 'service_timeout' } });
  const anthropic = await post(edge, '/v1/messages');
  expect(anthropic.status).toBe(504);
  expect(await anthropic.json()).toMatchObject({ error: { type: 'timeout_error' } });
  await waitFor(() => one.requests.slice(1).every((request) => request.socket.destroyed));
  finish?.();
  expect(await stream.text()).toBe('data: 1\n\ndata: 2\n\n');
});

test('a caller who waits for a job is not cut off, however short the time limit is', async () => {
  const edge = await edgeTo(one.url, { EDGE_SERVICE_TIMEOUT_MS: '100' });
  const finish = Promise.withResolvers<void>();
  one.reply((request, response) => {
    if (request.url?.startsWith('/v1/responses')) return;
    void finish.promise.then(() => response.end('{}'));
  });
  const paths = ['/v1/images/generations', '/v1/images/edits', '/v1/audio/transcriptions'];
  const waiting = paths.map((path) => post(edge, path));
  await waitFor(() => one.requests.length === paths.length);
  // Two requests that begin after them, one after the other: then the time is over for all.
  for (let n = 0; n < 2; n += 1) expect((await post(edge, '/v1/responses')).status).toBe(504);
  finish.resolve();
  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 200]);
});

test('a kept connection that the service closes at the wrong moment causes no error for a read, and no second call for a write', async () => {
  const edge = await edgeTo(one.url);
  const read = () => fetch(`${edge.url}/v1/responses/resp_1`, { headers: bearer });
  await (await read()).text();
  let closings = 0;
  one.reply((request, response) => {
    closings += 1;
    if (closings === 1) request.socket.destroy();
    else answerOk(request, response);
  });
  expect((await read()).status).toBe(200);
  expect(closings).toBe(2);
  closings = 0;
  expect((await post(edge, '/v1/responses')).status).toBe(503);
  expect(closings).toBe(1);
  // A connection to keep, for a call whose only difference from a reader's is its method.
  expect((await read()).status).toBe(200);
  closings = 0;
  const { authorization } = bearer;
  const cancel = `POST /v1/responses/resp_1/cancel HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`;
  expect(await rawExchange(edge.port, cancel)).toMatch(/^HTTP\/1\.1 503 /);
  expect(closings).toBe(1);
});

test('SIGTERM lets running streams finish and takes no new connections', async () => {
  const edge = await edgeTo(one.url);
  let finish: (() => void) | undefined;
  one.reply((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    finish = () => response.end('data: 2\n\n');
  });
  const stream = await post(edge, '/v1/responses');
  const stopped = edge.stop();
  await waitFor(() =>
    fetch(edge.url).then(
      () => false,
      () => true,
    ),
  );
  finish?.();
  expect(await stream.text()).toBe('data: 1\n\ndata: 2\n\n');
  expect(await stopped).toBe(0);
  edges.length = 0;
});

test("a request without an answer at the drain deadline gets its protocol's error", async () => {
  const edge = await edgeTo(one.url, { DRAIN_TIMEOUT_MS: '100' });
  one.reply(() => undefined);
  const answer = post(edge, '/v1/messages');
  await waitFor(() => one.requests.length === 1);
  const stopped = edge.stop();
  const response = await answer;
  expect(response.status).toBe(529);
  expect(await response.json()).toMatchObject({ error: { type: 'overloaded_error' } });
  expect(await stopped).toBe(0);
  edges.length = 0;
});
