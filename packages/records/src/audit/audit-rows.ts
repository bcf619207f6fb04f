import type { EntryId, OutboxEntry } from '@gateway/metering/usage/outbox';
import { z } from 'zod';
import { placesOf, type Queries } from '../database/database.ts';
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

/** The newest entries before a position. */
export async function readAuditRows(
  { query }: Queries,
  before: EntryId | null,
  limit: number,
): Promise<readonly AuditRow[]> {
  const where = before === null ? '' : 'where (entry_ms, entry_seq) < ($2, $3)';
  const rows = await query(
    `select entry_ms, entry_seq, content from audit_log ${where} order by entry_ms desc, entry_seq desc limit $1`,
    [limit, ...(before === null ? [] : [before.ms, before.seq])],
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
