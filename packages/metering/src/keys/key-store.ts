import { readFileSync } from 'node:fs';
import type { Identity } from '@gateway/contracts/identity';
import type { ChainableCommander, Redis } from 'ioredis';
import { askRedis } from './ask-redis.ts';
import { bootstrapKeyId, newKeyId } from './key-id.ts';
import { expiryMs, identityOf, isUsable, KeyRecord, type NewKey, newRecord } from './key-record.ts';
import { hashOf, isPlausibleSecret, makeSecret } from './key-secret.ts';
import { redisNames } from './redis-names.ts';

/** A valid key's owner, and until when it stays valid by itself, in Unix milliseconds (Infinity for ever). */
export interface FoundKey {
  readonly identity: Identity;
  readonly expiresAtMs: number;
}

export interface KeyPage {
  readonly keys: readonly KeyRecord[];
  /** What to pass as `after` for the next page; null on the last one. */
  readonly next: string | null;
}

/**
 * Caller keys in Redis. Secrets are never stored, only their keyed hash. Every function throws a `GatewayError`
 * `service_unavailable` when Redis does not answer.
 */
export interface KeyStore {
  /** Makes a key. Its secret is in this answer and nowhere else. */
  createKey(key: NewKey): Promise<{ readonly record: KeyRecord; readonly secret: string }>;
  /** The newest first, revoked ones included. */
  listKeys(page: { limit: number; after?: string | undefined }): Promise<KeyPage>;
  getKey(id: string): Promise<KeyRecord | undefined>;
  /** Revokes for good; a second time changes nothing. Undefined where there is no such key. */
  revokeKey(id: string): Promise<KeyRecord | undefined>;
  /** Makes sure that this secret is a key. Changes nothing if it is one already, also if that was revoked. */
  ensureBootstrapKey(secret: string): Promise<void>;
  /** The valid key that has this secret; undefined if it is unknown, revoked, disabled or expired. */
  findKey(secret: string): Promise<FoundKey | undefined>;
}

interface KeyStoreOptions {
  readonly redis: Redis;
  /** GATEWAY_SECRET: whoever has only the database cannot try secrets against it. */
  readonly gatewaySecret: string;
  readonly now: () => number;
}

const REPLACE_RECORD = readFileSync(new URL('./replace-record-1.lua', import.meta.url), 'utf8');
const MOST_REPLACE_ATTEMPTS = 10;

export function createKeyStore({ redis, gatewaySecret, now }: KeyStoreOptions): KeyStore {
  const hash = (secret: string) => hashOf(secret, gatewaySecret);

  const getKey = async (id: string) => {
    const text = await askRedis(redis.get(redisNames.record(id)));
    return text === null ? undefined : parseRecord(text);
  };

  return {
    createKey: async (key) => {
      const secret = makeSecret();
      const record = newRecord(newKeyId(now()), key, now());
      await transact(
        redis
          .multi()
          .set(redisNames.record(record.id), JSON.stringify(record))
          .set(redisNames.idOfHash(hash(secret)), record.id)
          .zadd(redisNames.index, 0, record.id),
      );
      return { record, secret };
    },

    listKeys: async ({ limit, after }) => {
      const from = after === undefined ? '+' : `(${after}`;
      const ids = await askRedis(
        redis.zrange(redisNames.index, from, '-', 'BYLEX', 'REV', 'LIMIT', 0, limit + 1),
      );
      const shown = ids.slice(0, limit);
      const texts =
        shown.length === 0 ? [] : await askRedis(redis.mget(shown.map((id) => redisNames.record(id))));
      return {
        keys: texts.filter((text) => text !== null).map(parseRecord),
        next: ids.length > limit ? (shown.at(-1) ?? null) : null,
      };
    },

    getKey,

    revokeKey: async (id) => {
      for (let attempt = 0; attempt < MOST_REPLACE_ATTEMPTS; attempt += 1) {
        const before = await askRedis(redis.get(redisNames.record(id)));
        if (before === null) return undefined;
        const record = parseRecord(before);
        if (record.revokedAt !== null) return record;
        const revoked = { ...record, revokedAt: new Date(now()).toISOString() };
        const replaced = await askRedis(
          redis.eval(REPLACE_RECORD, 1, redisNames.record(id), before, JSON.stringify(revoked)),
        );
        if (replaced === 1) return revoked;
      }
      throw new Error(`key ${id} changes faster than it can be revoked`);
    },

    ensureBootstrapKey: async (secret) => {
      const id = bootstrapKeyId(hash(secret));
      await transact(
        redis
          .multi()
          .setnx(redisNames.record(id), JSON.stringify(newRecord(id, { name: 'bootstrap' }, now())))
          .setnx(redisNames.idOfHash(hash(secret)), id)
          .zadd(redisNames.index, 0, id),
      );
    },

    findKey: async (secret) => {
      if (!isPlausibleSecret(secret)) return undefined;
      const id = await askRedis(redis.get(redisNames.idOfHash(hash(secret))));
      const record = id === null ? undefined : await getKey(id);
      if (record === undefined || !isUsable(record)) return undefined;
      const expiresAtMs = expiryMs(record);
      return expiresAtMs > now() ? { identity: identityOf(record), expiresAtMs } : undefined;
    },
  };
}

/** `EXEC` answers with each command's own error; any of them means that the whole did not take place as meant. */
async function transact(commands: ChainableCommander): Promise<void> {
  const replies = (await askRedis(commands.exec())) ?? [];
  for (const [error] of replies) if (error !== null) await askRedis(Promise.reject(error));
}

const parseRecord = (text: string): KeyRecord => KeyRecord.parse(JSON.parse(text));
