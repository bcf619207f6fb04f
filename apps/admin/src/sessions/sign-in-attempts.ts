import { GatewayError } from '@gateway/contracts/gateway-error';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { Redis } from 'ioredis';

/** Bounds how often somebody can try to sign in, over all replicas. */
export interface SignInAttempts {
  /**
   * Counts an attempt before it is checked, so that many at once are bounded too.
   *
   * @throws {GatewayError} `rate_limited` when there were too many that failed
   */
  begin(address: string): Promise<void>;
  /** Takes back one attempt, which was successful. */
  succeed(address: string): Promise<void>;
}

const WINDOW_SECONDS = 15 * 60;
const MAX_FAILURES = { address: 10, total: 200 } as const;

const nameOf = {
  address: (address: string) => `gateway:sign-in-failures:${address}`,
  total: () => 'gateway:sign-in-failures',
} as const;
const SCOPES = ['address', 'total'] as const;

export const createSignInAttempts = (redis: Redis): SignInAttempts => ({
  async begin(address) {
    const names = SCOPES.map((scope) => nameOf[scope](address));
    const transaction = redis.multi();
    for (const name of names) transaction.set(name, 0, 'EX', WINDOW_SECONDS, 'NX').incr(name).ttl(name);
    const replies = (await awaitRedis(transaction.exec())) ?? [];
    const numbers = replies.map(([, value]) => Number(value));
    SCOPES.forEach((scope, at) => {
      const [, count = 0, ttl = WINDOW_SECONDS] = numbers.slice(at * 3);
      if (count > MAX_FAILURES[scope]) throw tooMany(ttl);
    });
  },
  async succeed(address) {
    const transaction = redis.multi().del(nameOf.address(address)).decr(nameOf.total());
    await awaitRedis(transaction.exec());
  },
});

const tooMany = (retryAfterSeconds: number): GatewayError =>
  new GatewayError('rate_limited', {
    message: `Too many attempts to sign in have failed. Try again in ${Math.ceil(retryAfterSeconds / 60)} minutes.`,
    retryAfterSeconds,
  });
