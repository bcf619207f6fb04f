import { freePort } from '@gateway/testkit/free-port';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

let gateway: Gateway;
let redis: Redis;
let workers: readonly string[];

beforeAll(async () => {
  const [image, audio] = [await freePort(), await freePort()];
  workers = [image, audio].map((port) => `http://127.0.0.1:${port}`);
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'image', 'image-worker', 'audio', 'audio-worker', 'retrieval', 'admin'],
    env: { IMAGE_WORKER_METRICS_PORT: String(image), AUDIO_WORKER_METRICS_PORT: String(audio) },
  });
  redis = new Redis(gateway.stack.redisUrl);
});
afterAll(async () => {
  await redis?.quit();
  await gateway?.close();
});

const readiness = async (): Promise<number[]> => {
  const services = ['edge', 'text', 'image', 'audio', 'retrieval', 'admin'].map(
    (name) => gateway.stack.process(name).url,
  );
  return Promise.all([...services, ...workers].map(async (url) => (await fetch(`${url}/readyz`)).status));
};

test('no process is ready while Redis is out of memory, and all are when it has memory again', async () => {
  expect(new Set(await readiness())).toEqual(new Set([200]));
  await redis.config('SET', 'maxmemory', '1');
  expect(new Set(await readiness())).toEqual(new Set([503]));
  await redis.config('SET', 'maxmemory', '0');
  expect(new Set(await readiness())).toEqual(new Set([200]));
});
