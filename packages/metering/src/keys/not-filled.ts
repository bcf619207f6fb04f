import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Redis } from 'ioredis';
import { redisNames } from '../redis-names.ts';
import { awaitRedis } from './await-redis.ts';

const RETRY_AFTER_SECONDS = 1;

/** Redis was emptied, and has not yet again what the database knows of keys: what is missing there may exist all the same. */
export class NotFilled extends GatewayError {
  constructor() {
    super('service_unavailable', {
      message: `The gateway is reading its keys again. Please try again in ${RETRY_AFTER_SECONDS} second.`,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
}

/** Whether Redis has had all that the database knows of keys since this process began. */
export function createFilledCheck(redis: Redis): () => Promise<boolean> {
  let wasFilled = false;
  return async () => {
    wasFilled ||= (await redis.exists(redisNames.epoch)) === 1;
    return wasFilled;
  };
}

/** For who has not found a record. @throws {NotFilled} */
export async function checkFilled(redis: Redis): Promise<void> {
  if ((await awaitRedis(redis.exists(redisNames.epoch))) === 0) throw new NotFilled();
}
