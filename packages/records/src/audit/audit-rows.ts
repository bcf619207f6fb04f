import type { EntryId, OutboxEntry } from '@gateway/metering/usage/outbox';
import { z } from 'zod';
import { likePattern, placesOf, type Queries, type SqlValue } from '../database/database.ts';
import { storable } from '../usage/usage-groups.ts';

type AuditRow = Pick<OutboxEntry, 'id' | 'text'>;

const Rows = z.array(z.object({ entry_ms: z.int(), entry_seq: z.int(), content: z.string() }));
const AT_ONCE = 500;

/** Writes entries of the log; one that is there stays. */
export async function writeAudit({ query }: Queries, entries: readonly AuditRow[]): Promise<void> {
  for (let at = 0; at < entries.length; at += AT_ONCE) {
    const some = entries.slice(at, at + AT_ONCE);
    await query(
      `insert into audit_log (entry_ms, entry_seq, content) values ${placesOf(some.length, 3)} on conflict do nothing`,
      some.flatMap(({ id, text }) => [id.ms, id.seq, storable(text)]),
    );
  }
}

interface AuditQuery {
  readonly before: EntryId | null;
  readonly limit: number;
  /** A part of their texts. */
  readonly containing: string | undefined;
}

/** The newest entries before a position. */
export async function readAuditRows(
  { query }: Queries,
  { before, limit, containing }: AuditQuery,
): Promise<readonly AuditRow[]> {
  const values: SqlValue[] = [limit];
  const place = (value: SqlValue): string => `$${values.push(value)}`;
  const wheres = [
    ...(before === null ? [] : [`(entry_ms, entry_seq) < (${place(before.ms)}, ${place(before.seq)})`]),
    ...(containing === undefined ? [] : [`content like ${place(likePattern(containing))} escape '\\'`]),
  ];
  const where = wheres.length === 0 ? '' : `where ${wheres.join(' and ')}`;
  const rows = await query(
    `select entry_ms, entry_seq, content from audit_log ${where} order by entry_ms desc, entry_seq desc limit $1`,
    values,
  );
  return Rows.parse(rows).map(({ entry_ms: ms, entry_seq: seq, content }) => ({
    id: { ms, seq },
    text: content,
  }));
}

/** Deletes all but about the newest so many entries. */
export async function trimAudit({ query }: Queries, keep: number): Promise<void> {
  await query(
    `delete from audit_log where (entry_ms, entry_seq) < (
       select entry_ms, entry_seq from audit_log order by entry_ms desc, entry_seq desc limit 1 offset $1
     )`,
    [keep],
  );
}
