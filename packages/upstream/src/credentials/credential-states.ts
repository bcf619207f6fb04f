import { jsonIn } from '@gateway/contracts/json/json-object';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { CredentialReport } from './credential-sources.ts';

/** Hash: how each account's credentials stand, as JSON, by channel and account. */
const STATES = 'gateway:channel-credentials';
const KEEP_S = 7 * 86_400;

const fieldOf = ({ channel, account }: { channel: string; account: string }): string =>
  `${channel} ${account}`;

const State = z.object({
  source: z.string(),
  expiresAtMs: z.number().nullable(),
  failure: z.string().nullable(),
  /** When that was known, in milliseconds since 1970. */
  atMs: z.number(),
});
export type CredentialState = z.infer<typeof State>;

/** How the credentials of accounts stand, by the process that asked last. For people who look at a channel. */
export interface CredentialStates {
  add(report: CredentialReport): void;
  /** Writes what could not be written before. */
  flush(): Promise<void>;
}

export function createCredentialStates({
  redis,
  now,
}: {
  redis: Redis;
  now: () => number;
}): CredentialStates {
  const unwritten = new Map<string, CredentialState>();
  const flush = async () => {
    if (unwritten.size === 0) return;
    const states = [...unwritten];
    const fields = states.flatMap(([field, state]) => [field, JSON.stringify(state)]);
    await redis
      .multi()
      .hset(STATES, ...fields)
      .expire(STATES, KEEP_S)
      .exec();
    for (const [field, state] of states) if (unwritten.get(field) === state) unwritten.delete(field);
  };
  return {
    add({ source, expiresAtMs, failure, ...names }) {
      unwritten.set(fieldOf(names), { source, expiresAtMs, failure, atMs: now() });
      // While Redis is away they wait for the next one.
      flush().catch(() => undefined);
    },
    flush,
  };
}

/** Null where no process has asked for any. @throws what Redis throws */
export async function readCredentialStates(
  redis: Redis,
): Promise<(names: { channel: string; account: string }) => CredentialState | null> {
  const found = await redis.hgetall(STATES);
  return (names) => State.safeParse(jsonIn(found[fieldOf(names)] ?? '')).data ?? null;
}
