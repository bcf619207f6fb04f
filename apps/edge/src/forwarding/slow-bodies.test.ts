import { request as httpRequest, type IncomingMessage } from 'node:http';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { rawRequest } from '../testing/raw-request.ts';
import { bearer, KEY, type RunningEdge, runEdge } from '../testing/run-edge.ts';
import { answerOk, type StandInService, startStandInService } from '../testing/stand-in-service.ts';

let redis: TestRedis;
let text: StandInService;
let audio: StandInService;
let edge: RunningEdge;

beforeAll(async () => {
  redis = await startRedis();
  [text, audio] = await Promise.all([startStandInService(), startStandInService()]);
  edge = await runEdge({
    REDIS_URL: redis.url,
    TEXT_URL: text.url,
    AUDIO_URL: audio.url,
    RETRIEVAL_URL: audio.url,
    EDGE_BODY_IDLE_TIMEOUT_MS: '150',
  });
});
afterAll(async () => {
  await edge.stop();
  await Promise.all([text.close(), audio.close()]);
  await redis.close();
});
afterEach(() => {
  text.reply(answerOk);
  audio.reply(answerOk);
});

const unfinished = (path: string, requestId: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nX-Request-Id: ${requestId}\r\nContent-Length: 1000\r\n\r\n{`;

test.for([
  ['/v1/responses', { error: { code: 'request_timeout', message: expect.stringContaining('150 ms') } }],
  ['/v1/messages', { type: 'error', error: { type: 'invalid_request_error' } }],
] as const)('a body to %s that stops is a 408, and the request to the service ends', async ([path, body]) => {
  const requestId = `request-without-an-end-${path.length}`;
  const reply = await rawRequest(edge.port, unfinished(path, requestId));
  expect([reply.status, JSON.parse(reply.body)]).toMatchObject([408, body]);
  expect(await edge.logLine(requestId)).toMatchObject({
    outcome: 'refused',
    'error.code': 'request_timeout',
  });
  await waitFor(() => text.requests.at(-1)?.destroyed === true);
  reply.socket.destroy();
});

test('a chunked body without any byte is a 408', async () => {
  const head = `POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const { status, socket } = await rawRequest(edge.port, head);
  expect(status).toBe(408);
  socket.destroy();
});

test('a body that waits because the service does not read is not slow', async () => {
  const sizeBytes = 16 * 1024 * 1024;
  let received = 0;
  const held = Promise.withResolvers<IncomingMessage>();
  audio.reply((request, response) => {
    request.pause();
    request.once('end', () => response.end(String(received)));
    held.resolve(request);
  });
  const upload = httpRequest(`${edge.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { ...bearer, 'content-length': sizeBytes },
  });
  const replied = new Promise<IncomingMessage>((resolve, reject) => {
    upload.once('response', resolve);
    upload.once('error', reject);
  });
  upload.end(Buffer.alloc(sizeBytes));
  const request = await held.promise;
  // Two requests that begin after it and pause as long as allowed, one after the other: then the time is over for both.
  for (const requestId of ['request-as-a-clock-1', 'request-as-a-clock-2']) {
    const { status, socket } = await rawRequest(edge.port, unfinished('/v1/responses', requestId));
    expect(status).toBe(408);
    socket.destroy();
  }
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
  });
  request.resume();
  const reply = await replied;
  expect([reply.statusCode, (await reply.toArray()).join('')]).toEqual([200, String(sizeBytes)]);
});

test('a service may work longer on a body that has arrived than the body may pause', async () => {
  const answer = Promise.withResolvers<void>();
  audio.reply((request, response) => {
    request.resume();
    void answer.promise.then(() => response.end('{}'));
  });
  const reply = fetch(`${edge.url}/v1/audio/speech`, { method: 'POST', headers: bearer, body: '{}' });
  await waitFor(() => audio.requests.at(-1)?.complete === true);
  const { status, socket } = await rawRequest(edge.port, unfinished('/v1/responses', 'request-as-a-clock-3'));
  expect(status).toBe(408);
  socket.destroy();
  answer.resolve();
  expect((await reply).status).toBe(200);
});
