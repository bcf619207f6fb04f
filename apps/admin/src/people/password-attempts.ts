import { createHash } from 'node:crypto';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { Redis } from 'ioredis';

/** Bounds how often passwords are tried, over all replicas. Unlike tokens they can be guessed, so the right one is refused as well. */
export interface PasswordAttempts {
  /**
   * Counts an attempt before it is made.
   *
   * @throws {GatewayError} `rate_limited` when there were too many
   */
  begin(email: string, address: string): Promise<void>;
  /** The person is known: what this address tried for it before counts no more. */
  succeed(email: string, address: string): Promise<void>;
}

const WINDOW_SECONDS = 15 * 60;
/** Of one person from one address, of one person, and of one address, which a whole company may share. */
const MAX_ATTEMPTS = [10, 50, 200] as const;

const PREFIX = 'gateway:password-attempts';
/** An address of any length, which no name in Redis shows. */
const digest = (...parts: readonly string[]): string =>
  createHash('sha256').update(parts.join('\n')).digest('base64url').slice(0, 22);
const namesOf = (email: string, address: string): readonly [string, string, string] => [
  `${PREFIX}:both:${digest(email, address)}`,
  `${PREFIX}:person:${digest(email)}`,
  `${PREFIX}:address:${digest(address)}`,
];

export const createPasswordAttempts = (redis: Redis): PasswordAttempts => ({
  async begin(email, address) {
    const transaction = redis.multi();
    const names = namesOf(email, address);
    for (const name of names) transaction.set(name, 0, 'EX', WINDOW_SECONDS, 'NX').incr(name).ttl(name);
    const replies = (await awaitRedis(transaction.exec())) ?? [];
    const numbers = replies.map(([, value]) => Number(value));
    for (const [at, max] of MAX_ATTEMPTS.entries()) {
      const [, count = 0, ttl = WINDOW_SECONDS] = numbers.slice(at * 3);
      if (count > max) throw tooMany(ttl);
    }
  },
  async succeed(email, address) {
    const [both, ...others] = namesOf(email, address);
    const transaction = redis.multi().del(both);
    for (const name of others) transaction.decr(name).expire(name, WINDOW_SECONDS);
    await awaitRedis(transaction.exec());
  },
});

const tooMany = (retryAfterSeconds: number): GatewayError =>
  new GatewayError('rate_limited', {
    message: `Too many attempts. Try again in ${Math.ceil(retryAfterSeconds / 60)} minutes.`,
    retryAfterSeconds,
  });
