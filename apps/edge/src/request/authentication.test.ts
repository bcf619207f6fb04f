import type { KeyStore } from '@gateway/metering/keys/key-store';
import { keysInRedis } from '@gateway/metering/testing/records-in-redis';
import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GATEWAY_SECRET, KEY, type RunningEdge, runEdge } from '../testing/run-edge.ts';
import { type StandInService, startStandInService } from '../testing/stand-in-service.ts';

let redisServer: TestRedis;
let redis: Redis;
let keys: KeyStore;
let service: StandInService;
let edge: RunningEdge;

beforeAll(async () => {
  redisServer = await startRedis();
  redis = createRedis(redisServer.url, 'request');
  await redis.connect();
  keys = keysInRedis({ redis, gatewaySecret: GATEWAY_SECRET });
  service = await startStandInService();
  const { url } = service;
  edge = await runEdge({
    REDIS_URL: redisServer.url,
    TEXT_URL: url,
    IMAGE_URL: url,
    AUDIO_URL: url,
    RETRIEVAL_URL: url,
  });
});
afterAll(async () => {
  await edge.stop();
  await service.close();
  await redis.quit();
  await redisServer.close();
});

const post = (path: string, headers: Record<string, string>) =>
  fetch(edge.url + path, { method: 'POST', body: '{}', headers });

test('without a key each protocol gets its own error', async () => {
  const openai = await post('/v1/responses', {});
  expect(openai.status).toBe(401);
  expect(openai.headers.get('www-authenticate')).toBe('Bearer');
  expect(openai.headers.get('x-should-retry')).toBe('false');
  expect(await openai.json()).toEqual({
    error: {
      message: expect.stringContaining("You didn't provide an API key"),
      type: 'invalid_request_error',
      param: null,
      code: null,
    },
  });
  const anthropic = await post('/v1/messages', {});
  expect(anthropic.status).toBe(401);
  expect(await anthropic.json()).toEqual({
    type: 'error',
    error: { type: 'authentication_error', message: 'x-api-key header is required' },
    request_id: anthropic.headers.get('request-id'),
  });
});

test('an invalid key of any form is refused, and never quoted in the answer', async () => {
  for (const authorization of [
    'Bearer gwk_mistyped',
    `Bearer ${'x'.repeat(40)}`,
    'Basic dXNlcjpwYXNz',
    'Bearer',
  ]) {
    const response = await post('/v1/responses', { authorization });
    expect(response.status).toBe(401);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'invalid_api_key' } });
    expect(text).not.toContain(authorization.split(' ')[1] ?? '…');
  }
  const version = { 'anthropic-version': '2023-06-01' };
  const byHeader = await post('/v1/messages', { 'x-api-key': 'wrong', ...version });
  expect(await byHeader.json()).toMatchObject({ error: { message: 'invalid x-api-key' } });
  const byBearer = await post('/v1/messages', { authorization: 'Bearer wrong' });
  expect(await byBearer.json()).toMatchObject({ error: { message: 'Invalid bearer token' } });
});

test('the scheme may be written in any case', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER'])
    expect((await post('/v1/responses', { authorization: `${scheme} ${KEY}` })).status).toBe(200);
});

test('x-api-key is read on the message paths only, and there before a bearer token', async () => {
  const version = { 'anthropic-version': '2023-06-01' };
  expect((await post('/v1/messages', { 'x-api-key': KEY, ...version })).status).toBe(200);
  expect((await post('/v1/messages/count_tokens', { 'x-api-key': KEY, ...version })).status).toBe(200);
  expect((await post('/v1/responses', { 'x-api-key': KEY })).status).toBe(401);
  const both = { 'x-api-key': KEY, authorization: 'Bearer an-oauth-token-of-a-user', ...version };
  expect((await post('/v1/messages', both)).status).toBe(200);
  const reversed = { 'x-api-key': 'wrong', authorization: `Bearer ${KEY}`, ...version };
  expect((await post('/v1/messages', reversed)).status).toBe(401);
});

test('anthropic-version may be absent with a bearer token, not with x-api-key', async () => {
  const missing = await post('/v1/messages', { 'x-api-key': KEY });
  expect(missing.status).toBe(400);
  expect(await missing.json()).toMatchObject({
    error: { type: 'invalid_request_error', message: 'anthropic-version: header is required' },
  });
  expect((await post('/v1/messages', { authorization: `Bearer ${KEY}` })).status).toBe(200);
});

test('a key with scopes may call these endpoints and no others', async () => {
  const { secret } = await keys.createKey({ name: 'pictures', endpoints: ['images'] });
  const headers = { authorization: `Bearer ${secret}` };
  expect((await post('/v1/images/generations', headers)).status).toBe(200);
  const openai = await post('/v1/responses', headers);
  expect(openai.status).toBe(403);
  expect(await openai.json()).toMatchObject({ error: { code: 'insufficient_permissions' } });
  const anthropic = await post('/v1/messages', headers);
  expect(anthropic.status).toBe(403);
  expect(await anthropic.json()).toMatchObject({ error: { type: 'permission_error' } });
});

test('a revoked key is refused with the message for an unknown one', async () => {
  const { record, secret } = await keys.createKey({ name: 'leaving' });
  const headers = { authorization: `Bearer ${secret}` };
  expect((await post('/v1/responses', headers)).status).toBe(200);
  await keys.revokeKey(record.id);
  const refused = await waitFor(async () => {
    const response = await post('/v1/responses', headers);
    const text = await response.text();
    return response.status === 401 && text;
  });
  const unknown = await post('/v1/responses', { authorization: `Bearer ${'x'.repeat(40)}` });
  expect(await unknown.text()).toBe(refused);
});

test('neither log nor metrics nor Redis hold a key, and every request has one line with its key id', async () => {
  const { record, secret } = await keys.createKey({ name: 'logged' });
  const requestId = 'request-that-is-logged';
  await post('/v1/responses', { authorization: `Bearer ${secret}`, 'x-request-id': requestId });
  await post('/v1/messages', { 'x-api-key': secret });
  await post('/v1/responses', { authorization: 'Bearer a-wrong-key-that-is-long-enough' });
  expect(await edge.logLine(requestId)).toMatchObject({
    forwardedTo: 'text',
    method: 'POST',
    path: '/v1/responses',
    keyId: record.id,
    status: 200,
    outcome: 'ok',
    durationMs: expect.any(Number),
  });
  expect(edge.output.filter((line) => line.includes(requestId))).toHaveLength(1);
  const metrics = await (await fetch(edge.metricsUrl)).text();
  expect(metrics).toContain('gateway_requests_total{endpoint="/v1/responses",status="200",outcome="ok"');
  const names = await redis.keys('*');
  const dumps = await Promise.all(
    names.map(async (name) => `${name}${(await redis.dumpBuffer(name))?.toString('latin1')}`),
  );
  for (const text of [...edge.output, metrics, ...dumps])
    for (const key of [secret, KEY, 'a-wrong-key-that-is-long-enough']) expect(text).not.toContain(key);
});
