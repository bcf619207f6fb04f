import { startRedis } from '@gateway/testkit/start-redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { emptyRedis } from './records-in-redis.ts';

/** Gives `use` a client of the Redis that the tests of a file share, and that each of them finds empty. */
export function withRedis(use: (redis: Redis) => void): void {
  let server: Awaited<ReturnType<typeof startRedis>>;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url);
    use(redis);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.close();
  });
  beforeEach(async () => {
    await emptyRedis(redis);
  });
}
