import type { KeyStore } from '@gateway/metering/keys/key-store';
import { ConfigError } from '@gateway/service-kit/config';
import type { Logger } from '@gateway/service-kit/logger';
import type { Readiness } from '@gateway/service-kit/readiness';
import type { Redis } from 'ioredis';

interface ConnectKeysOptions {
  readonly redis: Redis;
  readonly keys: KeyStore;
  readonly bootstrapKey: string | undefined;
  readonly logger: Logger;
  readonly readiness: Readiness;
}

/**
 * Connects to the Redis that holds the keys, and makes sure that the bootstrap key is one of them: now, and whenever
 * the connection is made anew, since that may be to a Redis that has lost its data.
 *
 * @throws {ConfigError} when Redis cannot be reached at the start
 */
export async function connectKeys({
  redis,
  keys,
  bootstrapKey,
  logger,
  readiness,
}: ConnectKeysOptions): Promise<void> {
  let lastError: unknown;
  let away = false;
  redis.on('error', (error: unknown) => {
    lastError = error;
  });
  readiness.check('redis', async () => (await redis.ping()) === 'PONG');
  try {
    await redis.connect();
    if (bootstrapKey !== undefined) await keys.ensureBootstrapKey(bootstrapKey);
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
    if (bootstrapKey === undefined) return;
    keys
      .ensureBootstrapKey(bootstrapKey)
      .catch((error: unknown) => logger.error({ err: error }, 'the bootstrap key could not be ensured'));
  });
}
