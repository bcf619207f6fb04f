import type { Redis, RedisOptions } from 'ioredis';
import { connectFailure } from './connection/connect-failure.ts';
import { RedisClient } from './connection/redis-client.ts';
import { openRedisSecrets } from './place/redis-secrets.ts';
import { parseRedisUrl } from './place/redis-url.ts';

const retryEvery = (stepMs: number, maxMs: number) => (attempt: number) => Math.min(attempt * stepMs, maxMs);

/**
 * What a connection is for decides what becomes of its commands while Redis is away. One without an answer for its `socketTimeout`
 * is closed and opened again, which may lead to another master.
 */
const USES = {
  /** A request waits for its commands: with Redis away or frozen they fail within two seconds. */
  request: {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // Redis answers within a millisecond.
    commandTimeout: 2000,
    connectTimeout: 2000,
    socketTimeout: 5000,
    retryStrategy: retryEvery(100, 1000),
  },
  /** The same for queues of jobs, whose commands are larger. */
  queue: {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 5000,
    connectTimeout: 5000,
    socketTimeout: 7000,
    retryStrategy: retryEvery(250, 2000),
  },
  /** For workers: its commands wait until Redis is back. BullMQ demands this of its blocking commands, which take ten seconds at most. */
  worker: {
    maxRetriesPerRequest: null,
    connectTimeout: 5000,
    socketTimeout: 15_000,
    retryStrategy: retryEvery(250, 2000),
  },
  /** For listeners, whose subscriptions wait until Redis is back. By them others see whether a worker is alive. */
  listener: {
    maxRetriesPerRequest: null,
    connectTimeout: 5000,
    socketTimeout: 5000,
    retryStrategy: retryEvery(250, 2000),
  },
  /** Fails at the first attempt. */
  once: {
    maxRetriesPerRequest: 0,
    commandTimeout: 5000,
    connectTimeout: 5000,
    retryStrategy: () => null,
  },
} as const satisfies Record<string, RedisOptions>;

export type RedisUse = keyof typeof USES;

/**
 * All connections to Redis begin here. Not connected yet: call `connect()`.
 *
 * @param url see `parseRedisUrl`
 * @throws {RedisUrlError} for a URL that cannot be used, or a file of it
 */
export function createRedis(url: string, use: RedisUse): Redis {
  const place = parseRedisUrl(url);
  return new RedisClient(place, openRedisSecrets(place), USES[use]);
}

/** Connects. @throws where Redis does not answer now */
export async function openRedis(
  url: string,
  use: RedisUse,
  onError: (error: unknown) => void,
): Promise<Redis> {
  const redis = createRedis(url, use);
  let lastError: unknown;
  const remember = (error: unknown) => {
    lastError = error;
  };
  redis.on('error', remember);
  redis.on('error', onError);
  try {
    await redis.connect();
  } catch (error) {
    redis.disconnect();
    throw new Error(`Redis does not answer at REDIS_URL (${connectFailure(lastError ?? error)}).`, {
      cause: error,
    });
  } finally {
    redis.off('error', remember);
  }
  return redis;
}
