import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rawRequest } from '../testing/raw-request.ts';
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
  edge = await runEdge({ REDIS_URL: redis.url, TEXT_URL: url, IMAGE_URL: url, AUDIO_URL: url });
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
