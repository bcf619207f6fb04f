import { keysInRedis } from '@gateway/metering/testing/records-in-redis';
import { createRedis } from '@gateway/redis/open-redis';
import { freePort } from '@gateway/testkit/free-port';
import { startRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, test } from 'vitest';
import { bearer, GATEWAY_SECRET, runEdge } from './testing/run-edge.ts';
import { startStandInService } from './testing/stand-in-service.ts';

test('with Redis away or frozen a key in use still works, any other gets a prompt 503, and all work once it is back', async () => {
  let redis = await startRedis();
  const client = createRedis(redis.url, 'request');
  client.on('error', () => undefined);
  await client.connect();
  const { secret } = await keysInRedis({ redis: client, gatewaySecret: GATEWAY_SECRET }).createKey({
    name: 'idle',
  });
  client.disconnect();
  const service = await startStandInService();
  const edge = await runEdge({ REDIS_URL: redis.url, TEXT_URL: service.url });
  const post = (headers: Record<string, string>, path = '/v1/responses') =>
    fetch(edge.url + path, { method: 'POST', body: '{}', headers });
  const idle = { authorization: `Bearer ${secret}` };
  const isReady = async () => (await fetch(`${edge.url}/readyz`)).status === 200;

  expect((await post(bearer)).status).toBe(200);

  redis.kill('SIGSTOP');
  const frozen = await post(idle);
  expect([frozen.status, frozen.headers.get('retry-after')]).toEqual([503, '2']);
  expect((await post(bearer)).status).toBe(200);
  redis.kill('SIGCONT');
  await waitFor(isReady);

  redis.kill('SIGKILL');
  await redis.ended;
  await waitFor(async () => !(await isReady()));
  const openai = await post(idle);
  expect([openai.status, openai.headers.get('x-should-retry')]).toEqual([503, 'true']);
  expect((await post(idle, '/v1/messages')).status).toBe(529);
  expect((await post(bearer)).status).toBe(200);

  await redis.close();
  redis = await startRedis({ port: redis.port });
  await waitFor(isReady);
  // This Redis is another one, which has no keys.
  for (const key of [bearer, idle]) await waitFor(async () => (await post(key)).status === 401);

  const emptied = createRedis(redis.url, 'request');
  await emptied.connect();
  await emptied.flushall();
  const { status, headers } = await post({ authorization: 'Bearer a-key-that-was-not-seen-before' });
  expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  emptied.disconnect();

  await edge.stop();
  await service.close();
  await redis.close();
});

test('without Redis at the start the process ends with an error that names the next step', async () => {
  const port = await freePort();
  await expect(runEdge({ REDIS_URL: `redis://127.0.0.1:${port}` })).rejects.toThrow(
    /Redis does not answer at REDIS_URL \(connect ECONNREFUSED .*\)\. Start it, or correct the URL\./,
  );
});

test('settings that are wrong are named, without their values', async () => {
  const started = runEdge({
    REDIS_URL: 'redis://127.0.0.1:1',
    TEXT_URL: 'https://text/path',
    PORT: 'a port',
  });
  await expect(started).rejects.toThrow(/PORT: .*\n {2}TEXT_URL: must be an http URL without a path/);
});
