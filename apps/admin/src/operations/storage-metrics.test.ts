import { createMetrics, pageOf } from '@gateway/service-kit/metrics';
import { startRedis } from '@gateway/testkit/start-redis';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createStorageMetrics } from './storage-metrics.ts';

test('metrics say how far the recorder is behind, what waits on disk and how full Redis is', async () => {
  await using resources = new AsyncDisposableStack();
  const server = resources.adopt(await startRedis(), (owned) => owned.close());
  const redis = resources.adopt(new Redis(server.url, { maxRetriesPerRequest: 0 }), (owned) =>
    owned.disconnect(),
  );
  redis.on('error', () => undefined);
  const metrics = createMetrics('admin');
  let untilMs: number | null = null;
  const failures: unknown[] = [];
  createStorageMetrics(metrics, {
    redis,
    records: { recordedUntilMs: () => untilMs },
    readSpool: async () => ({ files: 1, bytes: 512, oldestMs: 1 }),
    now: () => 10_000,
    onError: (error) => void failures.push(error),
  });
  const read = async () =>
    (await pageOf(metrics).text())
      .replaceAll('service="admin"', '')
      .split('\n')
      .filter((line) => /^gateway_(?:recorder|usage_spool|redis_memory)/.test(line));

  expect(await read()).toEqual([
    'gateway_usage_spool_bytes{} 512',
    expect.stringMatching(/^gateway_redis_memory_bytes\{kind="used",\} \d{6,}$/),
  ]);

  untilMs = 8500;
  await redis.config('SET', 'maxmemory', '100mb');
  const full = await read();
  expect(full).toContain('gateway_recorder_lag_seconds{} 1.5');
  expect(full).toContain('gateway_redis_memory_bytes{kind="limit",} 104857600');

  await server.close();
  expect((await read()).filter((line) => line.startsWith('gateway_redis_memory'))).toEqual([]);
  expect(failures).toHaveLength(1);
});
