import { GatewayError } from '@gateway/contracts/gateway-error';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { Redis } from 'ioredis';

/** Bounds how often somebody is told that a sign-in or a token is wrong, over all replicas. */
export interface SignInAttempts {
  /**
   * Counts an attempt that was refused. What is right is never refused for the failures of others, who may share an address: behind
   * a company's proxy all people have one.
   *
   * @throws {GatewayError} `rate_limited` when there were too many
   */
  fail(address: string): Promise<void>;
}

const WINDOW_SECONDS = 15 * 60;
const MAX_FAILURES = { address: 10, total: 200 } as const;
const SCOPES = ['address', 'total'] as const;

/**
 * Calls with a wrong token are counted apart, and so are links that do not work: a program with an old token shuts no person
 * out.
 */
const PREFIXES = {
  'sign-in': 'gateway:sign-in-failures',
  call: 'gateway:token-failures',
  link: 'gateway:link-failures',
} as const;

export function createSignInAttempts(redis: Redis, of: keyof typeof PREFIXES): SignInAttempts {
  const nameOf = {
    address: (address: string) => `${PREFIXES[of]}:${address}`,
    total: () => PREFIXES[of],
  } as const;
  return {
    async fail(address) {
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
  };
}

const tooMany = (retryAfterSeconds: number): GatewayError =>
  new GatewayError('rate_limited', {
    message: `Too many failed attempts. Try again in ${Math.ceil(retryAfterSeconds / 60)} minutes.`,
    retryAfterSeconds,
  });
