import { keyNames } from '@gateway/metering/redis-names';
import {
  type EntryId,
  entryIdText,
  FIRST_ID,
  isAfter,
  parseEntryId,
  readOutbox,
} from '@gateway/metering/usage/outbox';
import type { Redis } from 'ioredis';
import type { Database } from '../database/database.ts';
import type { Lease } from '../recorder/lease.ts';
import { readCursors, writeCursor } from '../recorder/stream-cursors.ts';
import { writeAudit } from './audit-rows.ts';

/** The log of what Redis alone keeps: sessions and rests of channels. Gateways of before December 2026 wrote all of it there. */
export const AUDIT_STREAM = { name: keyNames.audit };

interface AuditRecorderOptions {
  readonly redis: Redis;
  readonly database: Database;
  readonly lease: Pick<Lease, 'write'>;
  readonly now: () => number;
}

/** Brings entries from the stream of Redis into the database, for as long as one term lasts. */
export interface AuditRecorder {
  record(): Promise<void>;
}

const AT_ONCE = 1000;
/** Rounds between two that trim the stream. */
const ROUNDS_OF_TRIM = 30;
/** For a database that is set back. */
const KEEP_IN_REDIS_MS = 3_600_000;

export function createAuditRecorder({ redis, database, lease, now }: AuditRecorderOptions): AuditRecorder {
  let after: EntryId | null = null;
  let rounds = 0;

  const trim = async (recorded: EntryId): Promise<EntryId> => {
    const last = (await redis.xrevrange(AUDIT_STREAM.name, '+', '-', 'COUNT', 1)).at(0)?.[0];
    // It was made again, or comes from a backup.
    if (last !== undefined && isAfter(recorded, parseEntryId(last))) return FIRST_ID;
    const oldestMs = Math.min(recorded.ms, now() - KEEP_IN_REDIS_MS);
    await redis.xtrim(AUDIT_STREAM.name, 'MINID', entryIdText({ ms: oldestMs, seq: 0 }));
    return recorded;
  };

  return {
    record: async () => {
      let from =
        after ?? (await database.read((queries) => readCursors(queries, [AUDIT_STREAM])))(AUDIT_STREAM);
      if (rounds % ROUNDS_OF_TRIM === 0 && from !== FIRST_ID) from = await trim(from);
      rounds += 1;
      for (;;) {
        const entries = await readOutbox(redis, AUDIT_STREAM, { after: from, count: AT_ONCE });
        const last = entries.at(-1);
        if (last === undefined) break;
        await lease.write(async (queries) => {
          await writeAudit(queries, entries);
          await writeCursor(queries, AUDIT_STREAM, last.id);
        });
        from = last.id;
      }
      after = from;
    },
  };
}
