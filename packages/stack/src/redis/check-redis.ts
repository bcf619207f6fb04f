import { connectFailure } from '@gateway/redis/connection/connect-failure';
import { refusalOfWrites } from '@gateway/redis/connection/refused-writes';
import { createRedis } from '@gateway/redis/open-redis';
import { openRedisSecrets, problemOf } from '@gateway/redis/place/redis-secrets';
import { parseRedisUrl, shownPlace } from '@gateway/redis/place/redis-url';
import { isNewEnough } from '@gateway/redis-server/find-redis-server';
import { StartError } from '../start-error.ts';

/** Hosts and ports, without user and password. @throws StartError for a URL that cannot be used */
function redisAddress(url: string): string {
  const problem = problemOf(() => openRedisSecrets(parseRedisUrl(url)));
  if (problem !== undefined) throw new StartError(`REDIS_URL ${problem}.`);
  return shownPlace(parseRedisUrl(url));
}

/**
 * Checks the Redis that `REDIS_URL` names.
 * @param warn gets a sentence for a setting that works but should change.
 * @throws StartError if it cannot be reached, refuses us or our writes, or is too old.
 */
export async function checkRedis(url: string, warn: (line: string) => void): Promise<void> {
  const address = redisAddress(url);
  const redis = createRedis(url, 'once');
  let lastError: unknown;
  redis.on('error', (error: Error) => {
    lastError = error;
  });
  try {
    await redis.connect();
    const version = /^(?:redis|valkey)_version:(\S+)/m.exec(await redis.info('server'))?.[1] ?? '0';
    if (!isNewEnough(version))
      throw new StartError(
        `The Redis at ${address} (REDIS_URL) has version ${version}; 6.2 or newer is needed.`,
      );
    const refusal = await refusalOfWrites(redis);
    if (refusal !== undefined)
      throw new StartError(`The Redis at ${address} (REDIS_URL) refuses writes: ${refusal.message}`);
    const policy = /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
    if (policy && policy !== 'noeviction')
      warn(
        `The Redis at ${address} may drop keys and jobs when its memory is full: set its maxmemory-policy to noeviction (it is ${policy}).`,
      );
  } catch (error) {
    if (error instanceof StartError) throw error;
    const reason = connectFailure(lastError ?? error);
    throw new StartError(`The Redis at ${address} (REDIS_URL) does not answer: ${reason}`);
  } finally {
    redis.disconnect();
  }
}
