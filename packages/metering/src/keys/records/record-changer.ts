import { defineScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type Actor, type AuditEntry, MAX_AUDIT_ENTRIES } from '../../audit/audit-log.ts';
import { loadScript } from '../../load-script.ts';
import { keyNames } from '../../redis-names.ts';
import { awaitRedis } from '../await-redis.ts';

/** A change of one record; everything in it happens, or nothing. */
export interface RecordChange {
  readonly id: string;
  /** The Redis names of the record and of its index. */
  readonly record: string;
  readonly index: string;
  /** The record's text as it was read; null: there must be none. */
  readonly before: string | null;
  /** The new record; null deletes it. */
  readonly after: Readonly<Record<string, unknown>> | null;
  /** Hashes of secrets that begin to lead to the record, and hashes that stop. */
  readonly begin?: readonly string[];
  readonly end?: readonly string[];
  readonly by: Actor;
  /** What the audit log shows. */
  readonly audit: Pick<AuditEntry, 'action' | 'before' | 'after'>;
}

/** False if the record has changed since it was read. */
export type ChangeRecord = (change: RecordChange) => Promise<boolean>;

const CHANGE_RECORD = loadScript(new URL('./change-record.lua', import.meta.url));
const MAX_ATTEMPTS = 10;

export function createRecordChanger({ redis, now }: { redis: Redis; now: () => number }): ChangeRecord {
  const change = defineScript(redis, 'gatewayChangeRecord', CHANGE_RECORD, z.number());
  return async ({ id, record, index, before, after, begin = [], end = [], by, audit }) => {
    const entry: AuditEntry = { at: new Date(now()).toISOString(), ...by, subject: id, ...audit };
    const hashes = [...begin, ...end].map(keyNames.idOfHash);
    const changed = await awaitRedis(
      change(
        [record, index, keyNames.audit, ...hashes],
        before ?? '',
        after === null ? '' : JSON.stringify(after),
        id,
        JSON.stringify(entry),
        MAX_AUDIT_ENTRIES,
        begin.length,
      ),
    );
    return changed === 1;
  };
}

/** Repeats `attempt` while it returns undefined, which means that the record changed since it was read. */
export async function untilChanged<T>(id: string, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < MAX_ATTEMPTS; count += 1) {
    const done = await attempt();
    if (done !== undefined) return done;
  }
  throw new Error(`${id} changes faster than it can be read`);
}
