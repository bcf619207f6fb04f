import { GatewayError } from '@gateway/contracts/gateway-error';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { Redis } from 'ioredis';

/** Bounds how often somebody can try to sign in, or to guess the admin token, over all replicas. */
export interface SignInAttempts {
  /**
   * Counts an attempt before it is checked, so that many at once are bounded too.
   *
   * @throws {GatewayError} `rate_limited` when there were too many that failed
   */
  begin(address: string): Promise<void>;
  /** The attempt was successful: the address's failures before it are forgotten. */
  succeed(address: string): Promise<void>;
  /** The attempt could not be checked, which is not the person's failure. */
  takeBack(address: string): Promise<void>;
}

const WINDOW_SECONDS = 15 * 60;
const MAX_FAILURES = { address: 10, total: 200 } as const;
const SCOPES = ['address', 'total'] as const;

/** Calls with a wrong token are counted apart: a program with an old token shuts no person out. */
const PREFIXES = { 'sign-in': 'gateway:sign-in-failures', call: 'gateway:token-failures' } as const;

export function createSignInAttempts(redis: Redis, of: keyof typeof PREFIXES): SignInAttempts {
  const nameOf = {
    address: (address: string) => `${PREFIXES[of]}:${address}`,
    total: () => PREFIXES[of],
  } as const;
  return {
    async begin(address) {
      const names = SCOPES.map((scope) => nameOf[scope](address));
      const transaction = redis.multi();
      for (const name of names) transaction.set(name, 0, 'EX', WINDOW_SECONDS, 'NX').incr(name).ttl(name);
      const replies = (await awaitRedis(transaction.exec())) ?? [];
      const numbers = replies.map(([, value]) => Number(value));
      // A count that was taken back just after its window ended has no end.
      const endless = names.filter((_, at) => (numbers[at * 3 + 2] ?? 0) < 0);
      await Promise.all(endless.map((name) => awaitRedis(redis.expire(name, WINDOW_SECONDS))));
      SCOPES.forEach((scope, at) => {
        const [, count = 0, ttl = WINDOW_SECONDS] = numbers.slice(at * 3);
        if (count > MAX_FAILURES[scope]) throw tooMany(ttl < 0 ? WINDOW_SECONDS : ttl);
      });
    },
    async succeed(address) {
      const transaction = redis.multi().del(nameOf.address(address)).decr(nameOf.total());
      await awaitRedis(transaction.exec());
    },
    async takeBack(address) {
      const transaction = redis.multi().decr(nameOf.address(address)).decr(nameOf.total());
      await awaitRedis(transaction.exec());
    },
  };
}

const tooMany = (retryAfterSeconds: number): GatewayError =>
  new GatewayError('rate_limited', {
    message: `Too many attempts have failed. Try again in ${Math.ceil(retryAfterSeconds / 60)} minutes.`,
    retryAfterSeconds,
  });
