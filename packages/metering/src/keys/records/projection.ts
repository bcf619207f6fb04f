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
  /** Null: Redis was emptied, or has never been filled. @throws what Redis throws */
  epoch(): Promise<string | null>;
  /** From now on what is not there does not exist. @throws what Redis throws */
  complete(): Promise<void>;
}

const PUT = loadScript(new URL('./put-record.lua', import.meta.url));
const RAISE_ACCOUNT = loadScript(new URL('../../ledger/raise-account.lua', import.meta.url));
const CHARGE_LATE = loadScript(new URL('../../ledger/charge-late.lua', import.meta.url));
/** A record is read again for an hour at most. */
const LATE_ID_SECONDS = 86_400;
const ACCOUNT_SECONDS = 100 * 86_400;

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
  redis.defineCommand('gatewayPutRecord', { lua: PUT });
  redis.defineCommand('gatewayRaiseAccount', { lua: RAISE_ACCOUNT });
  const chargeLate = defineScript(redis, 'gatewayChargeLate', CHARGE_LATE, z.number());
  /** Sends many commands in one round trip. */
  const send = async (commands: ReturnType<Redis['pipeline']>): Promise<void> => {
    for (const [error] of (await commands.exec()) ?? []) if (error !== null) throw error;
  };
  return {
    put: async (records) => {
      if (records.length === 0) return;
      const commands = redis.pipeline();
      for (const record of records)
        commands.gatewayPutRecord?.(
          2,
          nameOf(record),
          keyNames.versions,
          `${record.kind}:${record.id}`,
          record.version,
          record.text ?? '',
          record.id,
          keyNames.idOfHashPrefix,
          ...hashesOf(record),
        );
      await send(commands);
    },
    putAccounts: async (accounts) => {
      const commands = redis.pipeline();
      for (const { name, microUsd } of accounts)
        commands.gatewayRaiseAccount?.(1, name, microUsd, ACCOUNT_SECONDS);
      await send(commands);
    },
    chargeLate: async ({ id, microUsd, accounts }) => {
      const keys = [redisNames.lateIds, redisNames.epoch, ...accounts];
      await chargeLate(keys, id, microUsd, LATE_ID_SECONDS, ACCOUNT_SECONDS);
    },
    epoch: () => redis.get(redisNames.epoch),
    complete: async () => {
      await redis.set(redisNames.epoch, randomUUID());
    },
  };
}
