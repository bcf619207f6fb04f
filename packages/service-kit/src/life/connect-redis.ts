import { ConfigError } from '@gateway/contracts/config-error';
import { connectFailure } from '@gateway/redis/connection/connect-failure';
import { refusalIn, refusalOfWrites } from '@gateway/redis/connection/refused-writes';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import type { Readiness } from './readiness.ts';

/** The part of a Redis client that is needed (ioredis, made with `lazyConnect`). */
interface RedisConnection {
  readonly status: string;
  connect(): Promise<unknown>;
  /** Writes only where the key exists. */
  set(key: string, value: string, condition: 'XX'): Promise<unknown>;
  on(event: 'error' | 'close' | 'ready' | 'replaced', listener: (error?: unknown) => void): unknown;
}

interface ConnectOptions {
  readonly logger: Logger;
  readonly readiness: Readiness;
  readonly metrics: Pick<Metrics, 'redisReplaced'>;
}

/**
 * Connects to the Redis that the process needs, and makes the process's readiness depend on it. Logs once when it goes
 * away, once when it is back, and when it is another one than before; the same when it answers but refuses writes (out of memory, a replica, a full
 * disk, too few replicas).
 *
 * @throws {ConfigError} when it cannot be reached now, or refuses us
 */
export async function connectRedis(
  redis: RedisConnection,
  { logger, readiness, metrics }: ConnectOptions,
): Promise<void> {
  let lastError: unknown;
  let away = false;
  let refusing = false;
  redis.on('error', (error) => {
    lastError = error;
  });
  readiness.check('redis', async () => {
    const refusal = await refusalOfWrites(redis);
    if (refusal !== undefined && !refusing) logger.warn({ err: refusal }, 'redis refuses writes');
    if (refusal === undefined && refusing) logger.info('redis accepts writes again');
    refusing = refusal !== undefined;
    return !refusing;
  });
  try {
    await redis.connect();
  } catch (error) {
    const refusal = refusalIn(error);
    if (refusal !== undefined)
      throw new ConfigError(
        `Redis at REDIS_URL refuses commands (${refusal.message}). Correct its settings, or the URL.`,
      );
    const reason = lastError instanceof Error ? ` (${connectFailure(lastError)})` : '';
    throw new ConfigError(`Redis does not answer at REDIS_URL${reason}. Start it, or correct the URL.`);
  }
  redis.on('close', () => {
    if (away || redis.status === 'end') return;
    away = true;
    logger.warn({ err: lastError }, 'redis is away');
  });
  redis.on('replaced', () => {
    metrics.redisReplaced();
    logger.warn('redis is another one after a failover or a restart: what it confirmed last may be lost');
  });
  redis.on('ready', () => {
    away = false;
    logger.info('redis is back');
  });
}
