import { type AuditEntry, type AuditPage, parseAuditEntry } from '@gateway/metering/audit/audit-log';
import { type ReportBroken, readStored } from '@gateway/metering/broken-records';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import { type EntryId, entryIdText, isAfter, parseEntryId, readOutbox } from '@gateway/metering/usage/outbox';
import type { Redis } from 'ioredis';
import { awaitDatabase } from '../database/await-database.ts';
import type { Database } from '../database/database.ts';
import { readCursors } from '../recorder/stream-cursors.ts';
import { readAuditRows } from './audit-rows.ts';
import { AUDIT_STREAM } from './record-audit.ts';

interface AuditRequest {
  readonly limit: number;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  /** Only entries whose text has this part. */
  readonly containing?: string | undefined;
}

/**
 * A page of the log, the newest first: of the database, and of what is on its way there. An entry that cannot be read is reported
 * and left out.
 *
 * @throws {GatewayError} `service_unavailable` where the database or Redis does not answer
 */
export type ReadAudit = (request: AuditRequest) => Promise<AuditPage>;

const MEANWHILE = 'The log of changes is shown again then; nothing of it is lost.';
/** The recorder is rarely so far behind. */
const MAX_TAIL = 10_000;

export const createAuditReader =
  ({ database, redis, onBroken }: { database: Database; redis: Redis; onBroken: ReportBroken }): ReadAudit =>
  async ({ limit, after, containing }) => {
    const before = after === undefined ? null : parseEntryId(after);
    const { rows, recorded } = await awaitDatabase(
      database.read(async (queries) => ({
        recorded: (await readCursors(queries, [AUDIT_STREAM]))(AUDIT_STREAM),
        rows: await readAuditRows(queries, { before, limit: limit + 1, containing }),
      })),
      MEANWHILE,
    );
    const tail = await awaitRedis(readOutbox(redis, AUDIT_STREAM, { after: recorded, count: MAX_TAIL }));
    const isInPage = ({ id, text }: { id: EntryId; text: string }) =>
      (before === null || isAfter(before, id)) && (containing === undefined || text.includes(containing));
    const found = [...tail.filter(isInPage), ...rows].toSorted((a, b) => (isAfter(a.id, b.id) ? -1 : 1));
    const page = found.slice(0, limit);
    const entries = page.flatMap(({ id, text }) => {
      const name = entryIdText(id);
      const entry: AuditEntry | undefined = readStored(
        text,
        parseAuditEntry,
        { kind: 'audit_entry', id: name },
        onBroken,
      );
      return entry === undefined ? [] : [{ id: name, ...entry }];
    });
    const last = page.at(-1);
    return { entries, next: found.length > limit && last !== undefined ? entryIdText(last.id) : null };
  };
