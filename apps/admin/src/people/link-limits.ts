import { createHash } from 'node:crypto';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { Redis } from 'ioredis';

/** Bounds how many links to set a password are made, over all replicas: each may become a mail to somebody. */
export interface LinkLimits {
  /**
   * Counts a link before it is made.
   *
   * @throws {GatewayError} `rate_limited` when there were too many within the hour
   */
  begin(email: string, by: string): Promise<void>;
}

const WINDOW_SECONDS = 3600;
const MAX_LINKS = { person: 10, maker: 500 } as const;

const PREFIX = 'gateway:links';
/** A text of any length, which no name in Redis shows. */
const digest = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22);

export const createLinkLimits = (redis: Redis): LinkLimits => ({
  async begin(email, by) {
    const counted = [
      { name: `${PREFIX}:person:${digest(email)}`, max: MAX_LINKS.person, of: 'for this person' },
      { name: `${PREFIX}:maker:${digest(by)}`, max: MAX_LINKS.maker, of: 'by you' },
    ];
    const transaction = redis.multi();
    for (const { name } of counted) transaction.set(name, 0, 'EX', WINDOW_SECONDS, 'NX').incr(name).ttl(name);
    const replies = (await awaitRedis(transaction.exec())) ?? [];
    for (const [at, { max, of }] of counted.entries()) {
      const [, count = 0, ttl = WINDOW_SECONDS] = replies
        .slice(at * 3, at * 3 + 3)
        .map(([, value]) => Number(value));
      if (count > max)
        throw new GatewayError('rate_limited', {
          message: `${max} links were created ${of} within an hour, which is the most. Try again in ${Math.ceil(ttl / 60)} minutes.`,
          retryAfterSeconds: ttl,
        });
    }
  },
});
