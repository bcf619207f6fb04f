import { randomUUID } from 'node:crypto';
import { defineScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { loadScript } from '../../load-script.ts';
import { keyNames, redisNames } from '../../redis-names.ts';
import type { RecordKind } from './access-records.ts';

/** A record as the database has it. */
export interface ProjectedRecord {
  readonly kind: RecordKind;
  readonly id: string;
  /** Grows with every change of any record. */
  readonly version: number;
  /** Null: it was deleted. */
  readonly text: string | null;
}

/** What Redis has of the database, for those who look keys up and count what they spend. All of it can be written again. */
export interface Projection {
  /** Writes records, in any order and as often as one likes: a later version stays. @throws what Redis throws */
  put(records: readonly ProjectedRecord[]): Promise<void>;
  /** Writes what accounts have spent, where Redis knows of less. @throws what Redis throws */
  putAccounts(accounts: readonly { readonly name: string; readonly microUsd: number }[]): Promise<void>;
  /**
   * Makes what accounts have spent exact again: what the database knows, and what the streams have after what it has of them. False
   * where that is too much to be read at once.
   *
   * @throws what Redis throws
   */
  balance(
    accounts: readonly { readonly name: string; readonly microUsd: number }[],
    streams: readonly { readonly name: string; readonly after: string }[],
  ): Promise<boolean>;
  /**
   * Adds the cost of a request whose reservation was lost to its accounts, once. Nothing happens before `complete`: `putAccounts`
   * brings it then.
   *
   * @throws what Redis throws
   */
  chargeLate(request: {
    readonly id: string;
    readonly microUsd: number;
    readonly accounts: readonly string[];
  }): Promise<void>;
  /**
   * Says that this database's records are the ones that count here. Returns 0, or for how many milliseconds a gateway with another
   * database does. @throws what Redis throws
   */
  claim(database: string): Promise<number>;
  /** @throws what Redis throws */
  release(database: string): Promise<void>;
  /** Null: Redis was emptied, or has never been filled. @throws what Redis throws */
  source(): Promise<RecordSource | null>;
  /** How many records are here, or were. @throws what Redis throws */
  count(): Promise<number>;
  /** Which they are. @throws what Redis throws */
  names(): AsyncIterable<readonly Pick<ProjectedRecord, 'kind' | 'id'>[]>;
  /** From now on what is not there does not exist. @throws what Redis throws */
  complete(database: string): Promise<void>;
}

/** Where the records of a Redis come from. */
export interface RecordSource {
  /** The id of the database. */
  readonly database: string;
  /** The latest version that has been put here. */
  readonly newest: number;
}

const PUT = loadScript(new URL('./put-records.lua', import.meta.url));
const RAISE_ACCOUNT = loadScript(new URL('../../ledger/raise-account.lua', import.meta.url));
const CLAIM = loadScript(new URL('./claim-redis.lua', import.meta.url));
const BALANCE = loadScript(new URL('../../ledger/balance-accounts.lua', import.meta.url));
const CHARGE_LATE = loadScript(new URL('../../ledger/charge-late.lua', import.meta.url));
/** A record is read again for an hour at most. */
const LATE_ID_SECONDS = 86_400;
const ACCOUNT_SECONDS = 100 * 86_400;
/** Records of one script: requests wait for it. */
const RECORDS_AT_ONCE = 100;
/** Entries of streams that one script reads. */
const MAX_UNDER_WAY = 10_000;
/** How long a gateway that was killed keeps one with another database from this Redis. */
const CLAIM_MS = 60_000;
/** The field of the latest version, among those of records. */
const NEWEST = '';
const NAMES_AT_ONCE = 500;
const RecordName = z.tuple([z.enum(['key', 'team']), z.string()]);

const Secrets = z.object({ secrets: z.array(z.object({ hash: z.string().nullable() })) });

/** A text that cannot be read leads nowhere. */
function hashesOf({ kind, text }: ProjectedRecord): string[] {
  if (kind === 'team' || text === null) return [];
  try {
    const { secrets } = Secrets.parse(JSON.parse(text));
    return secrets.flatMap(({ hash }) => (hash === null ? [] : [hash]));
  } catch {
    return [];
  }
}

const nameOf = ({ kind, id }: ProjectedRecord): string =>
  kind === 'key' ? keyNames.record(id) : keyNames.team(id);

export function createProjection(redis: Redis): Projection {
  const put = defineScript(redis, 'gatewayProjectRecords', PUT, z.number());
  redis.defineCommand('gatewayRaiseAccount', { lua: RAISE_ACCOUNT });
  const claim = defineScript(redis, 'gatewayClaimRedis', CLAIM, z.number());
  const balance = defineScript(redis, 'gatewayBalanceAccounts', BALANCE, z.number());
  const chargeLate = defineScript(redis, 'gatewayChargeLate', CHARGE_LATE, z.number());
  /** Sends many commands in one round trip. */
  const send = async (commands: ReturnType<Redis['pipeline']>): Promise<void> => {
    for (const [error] of (await commands.exec()) ?? []) if (error !== null) throw error;
  };
  return {
    put: async (records) => {
      for (let at = 0; at < records.length; at += RECORDS_AT_ONCE) {
        const some = records.slice(at, at + RECORDS_AT_ONCE);
        await put(
          [keyNames.versions, ...some.map(nameOf)],
          keyNames.idOfHashPrefix,
          ...some.flatMap((record) => {
            const hashes = hashesOf(record);
            const { kind, id, version, text } = record;
            return [`${kind}:${id}`, version, text ?? '', id, hashes.length, ...hashes];
          }),
        );
      }
    },
    putAccounts: async (accounts) => {
      const commands = redis.pipeline();
      for (const { name, microUsd } of accounts)
        commands.gatewayRaiseAccount?.(1, name, microUsd, ACCOUNT_SECONDS);
      await send(commands);
    },
    balance: async (accounts, streams) => {
      const keys = [...accounts, ...streams].map(({ name }) => name);
      const numbers = [accounts.length, MAX_UNDER_WAY, ACCOUNT_SECONDS];
      const spent = accounts.map(({ microUsd }) => microUsd);
      return (await balance(keys, ...numbers, ...spent, ...streams.map(({ after }) => after))) === 1;
    },
    chargeLate: async ({ id, microUsd, accounts }) => {
      const keys = [redisNames.lateIds, redisNames.epoch, ...accounts];
      await chargeLate(keys, id, microUsd, LATE_ID_SECONDS, ACCOUNT_SECONDS);
    },
    claim: (database) => claim([redisNames.database], database, CLAIM_MS),
    release: async (database) => {
      if ((await redis.get(redisNames.database)) === database) await redis.del(redisNames.database);
    },
    source: async () => {
      const [epoch, newest] = await Promise.all([
        redis.get(redisNames.epoch),
        redis.hget(keyNames.versions, NEWEST),
      ]);
      const [database] = epoch?.split(' ') ?? [];
      return database === undefined ? null : { database, newest: Number(newest ?? 0) };
    },
    // Beside them is the latest version.
    count: async () => Math.max(0, (await redis.hlen(keyNames.versions)) - 1),
    names: async function* () {
      for await (const found of redis.hscanStream(keyNames.versions, { count: NAMES_AT_ONCE })) {
        const fields = z.array(z.string()).parse(found);
        yield fields.flatMap((field, at) => {
          if (at % 2 === 1 || field === NEWEST) return [];
          const colon = field.indexOf(':');
          const [kind, id] = RecordName.parse([field.slice(0, colon), field.slice(colon + 1)]);
          return [{ kind, id }];
        });
      }
    },
    complete: async (database) => {
      await redis.set(redisNames.epoch, `${database} ${randomUUID()}`);
    },
  };
}
