import { mkdir, rm } from 'node:fs/promises';
import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type RunningEdge, runEdge } from './testing/run-edge.ts';

/** A Redis that answers, and refuses writes. */

let server: TestRedis;
let redis: Redis;
let edge: RunningEdge;

beforeAll(async () => {
  server = await startRedis();
  redis = createRedis(server.url, 'request');
  await redis.connect();
  edge = await runEdge({ REDIS_URL: server.url });
});
afterAll(async () => {
  await edge.stop();
  redis.disconnect();
  await server.close();
});

interface Trouble {
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
}

const lastSnapshot = async () => /^rdb_last_bgsave_status:(\w+)/m.exec(await redis.info('persistence'))?.[1];

const folderOf = async (): Promise<string> => {
  const [, dir] = z.tuple([z.string(), z.string()]).parse(await redis.config('GET', 'dir'));
  return dir;
};

const TROUBLES: Record<string, () => Trouble> = {
  OOM: () => ({
    begin: () => redis.config('SET', 'maxmemory', '1'),
    end: () => redis.config('SET', 'maxmemory', '0'),
  }),
  READONLY: () => ({
    begin: () => redis.replicaof('127.0.0.1', '1'),
    end: () => redis.replicaof('NO', 'ONE'),
  }),
  NOREPLICAS: () => ({
    begin: () => redis.config('SET', 'min-replicas-to-write', '1'),
    end: () => redis.config('SET', 'min-replicas-to-write', '0'),
  }),
  MISCONF: () => {
    let folder: string;
    return {
      begin: async () => {
        folder = await folderOf();
        await redis.config('SET', 'save', '3600 1000000');
        await rm(folder, { recursive: true });
        await redis.bgsave();
        await waitFor(async () => (await lastSnapshot()) === 'err');
      },
      end: async () => {
        await mkdir(folder);
        await redis.config('SET', 'save', '');
      },
    };
  },
};

const readyz = async (): Promise<number> => (await fetch(`${edge.url}/readyz`)).status;
const linesWith = (text: string) => edge.output.filter((line) => line.includes(text));

test.for(Object.entries(TROUBLES))(
  '%s: not ready, logged once, and ready again when it is over',
  async ([code, make]) => {
    const trouble = make();
    const before = linesWith('redis accepts writes again').length;
    expect(await readyz()).toBe(200);
    await trouble.begin();
    expect([await readyz(), await readyz()]).toEqual([503, 503]);
    await trouble.end();
    // A replica is left at once, and looked at again within a second.
    await waitFor(async () => (await readyz()) === 200);
    await waitFor(() => linesWith('redis accepts writes again').length === before + 1);
    expect(linesWith('redis refuses writes').filter((line) => line.includes(code))).toHaveLength(1);
  },
);

test('the readiness check changes nothing in Redis', async () => {
  const writes = async () => /^rdb_changes_since_last_save:(\d+)/m.exec(await redis.info('persistence'))?.[1];
  const [keys, changes] = [await redis.keys('*'), await writes()];
  for (let n = 0; n < 5; n += 1) expect(await readyz()).toBe(200);
  expect([await redis.keys('*'), await writes()]).toEqual([keys, changes]);
});

test('a process that starts while Redis refuses writes says so, and is ready when Redis accepts them', async () => {
  await redis.config('SET', 'maxmemory', '1');
  const started = await runEdge({ REDIS_URL: server.url });
  onTestFinished(async () => void (await started.stop()));
  const status = async () => (await fetch(`${started.url}/readyz`)).status;
  expect(await status()).toBe(503);
  await waitFor(() => started.output.some((line) => line.includes('redis refuses writes')));
  await redis.config('SET', 'maxmemory', '0');
  await waitFor(async () => (await status()) === 200);
});
