import { ConfigError } from '@gateway/contracts/config-error';
import type { Logger } from './logger.ts';
import type { Readiness } from './readiness.ts';

/** What is needed of a Redis client (ioredis, made with `lazyConnect`). */
interface RedisConnection {
  readonly status: string;
  connect(): Promise<unknown>;
  ping(): Promise<string>;
  on(event: 'error' | 'close' | 'ready', listener: (error?: unknown) => void): unknown;
}

interface ConnectOptions {
  readonly logger: Logger;
  readonly readiness: Readiness;
  /** Done now and after every reconnection, since that may be to a Redis that has lost its data. */
  readonly prepare?: (() => Promise<void>) | undefined;
}

/**
 * Connects to the Redis without which the process cannot work, makes the process's readiness depend on it, and logs
 * once when it goes away and once when it is back.
 *
 * @throws {ConfigError} when it cannot be reached now
 */
export async function connectRedis(
  redis: RedisConnection,
  { logger, readiness, prepare }: ConnectOptions,
): Promise<void> {
  let lastError: unknown;
  let away = false;
  redis.on('error', (error) => {
    lastError = error;
  });
  readiness.check('redis', async () => (await redis.ping()) === 'PONG');
  try {
    await redis.connect();
    await prepare?.();
  } catch {
    const reason = lastError instanceof Error ? ` (${lastError.message})` : '';
    throw new ConfigError(`Redis does not answer at REDIS_URL${reason}. Start it, or correct the URL.`);
  }
  redis.on('close', () => {
    if (away || redis.status === 'end') return;
    away = true;
    logger.warn({ err: lastError }, 'redis is away');
  });
  redis.on('ready', () => {
    away = false;
    logger.info('redis is back');
    prepare?.().catch((error: unknown) => logger.error({ err: error }, 'redis could not be prepared'));
  });
}
