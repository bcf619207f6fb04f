import { Redis, type RedisOptions } from 'ioredis';

const retryEvery = (stepMs: number, maxMs: number) => (attempt: number) => Math.min(attempt * stepMs, maxMs);

/** What a connection is for decides what becomes of its commands while Redis is away. */
const USES = {
  /** A request waits for its commands: with Redis away or frozen they fail within two seconds. */
  request: {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // Redis answers within a millisecond.
    commandTimeout: 2000,
    connectTimeout: 2000,
    // A connection without an answer for this long is closed and opened again.
    socketTimeout: 5000,
    retryStrategy: retryEvery(100, 1000),
  },
  /** The same for queues of jobs, whose commands are larger. */
  queue: {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 5000,
    connectTimeout: 5000,
    retryStrategy: retryEvery(250, 2000),
  },
  /** For workers and listeners: its commands wait until Redis is back. BullMQ demands this of its blocking commands. */
  worker: { maxRetriesPerRequest: null, connectTimeout: 5000, retryStrategy: retryEvery(250, 2000) },
  /** Fails at the first attempt. */
  once: {
    maxRetriesPerRequest: 0,
    commandTimeout: 5000,
    connectTimeout: 5000,
    retryStrategy: () => null,
  },
} as const satisfies Record<string, RedisOptions>;

export type RedisUse = keyof typeof USES;

/** Not connected yet: call `connect()`. */
export const createRedis = (url: string, use: RedisUse): Redis =>
  new Redis(url, { lazyConnect: true, ...USES[use] });

/** Connects. @throws where Redis does not answer now */
export async function openRedis(
  url: string,
  use: RedisUse,
  onError: (error: unknown) => void,
): Promise<Redis> {
  const redis = createRedis(url, use);
  redis.on('error', onError);
  try {
    await redis.connect();
  } catch (error) {
    redis.disconnect();
    throw new Error('Redis does not answer. Is REDIS_URL right, and is Redis running?', { cause: error });
  }
  return redis;
}
