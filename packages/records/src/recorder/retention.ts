import { MAX_AUDIT_ENTRIES } from '@gateway/metering/audit/audit-log';
import { hourNumber } from '@gateway/metering/usage/usage-rows';
import { z } from 'zod';
import { trimAudit } from '../audit/audit-rows.ts';
import type { Database } from '../database/database.ts';
import { grainsOf, HOURS_IN, UNITS } from '../usage/rollups.ts';
import type { Lease } from './lease.ts';
import { dropPartitions } from './partitions.ts';

const DAY_MS = 86_400_000;
/** Rows that one transaction deletes: readers wait for it. */
const SLICE = 2000;
/** Slices of one round; the next round goes on. */
const MAX_SLICES = 50;
/** A Redis that was set back returns nothing older. */
const REFUSALS_DAYS = 8;
const ACCOUNTS_DAYS = 100;
/** Pages that one call gives back to the file system. */
const FREED_PAGES = 2000;

const Deleted = z.array(z.object({}));

interface RetentionOptions {
  readonly database: Database;
  readonly lease: Pick<Lease, 'write'>;
  readonly nowMs: number;
  readonly keepRecordsDays: number;
  readonly keepSumsDays: number;
}

/** Deletes what is older than it is kept: in PostgreSQL whole months of records, else row by row, in slices. */
export async function deleteOld({
  database,
  lease,
  nowMs,
  keepRecordsDays,
  keepSumsDays,
}: RetentionOptions): Promise<void> {
  const recordsBeforeMs = nowMs - keepRecordsDays * DAY_MS;
  const sumsBeforeMs = nowMs - keepSumsDays * DAY_MS;
  if (database.dialect === 'postgres')
    await lease.write((queries) => dropPartitions(queries, recordsBeforeMs));

  const slices: readonly [table: string, where: string, before: number][] = [
    // Of PostgreSQL's only the partition of the rest is left: a month's goes as a whole.
    [
      database.dialect === 'postgres' ? 'usage_records_other' : 'usage_records',
      'ended_at < $1',
      recordsBeforeMs,
    ],
    ...slicesOfSums('usage_sums', sumsBeforeMs),
    // As long as the records: they take more room than the sums.
    ...slicesOfSums('usage_latencies', recordsBeforeMs),
    ['refusal_counts', 'ended_at < $1', nowMs - REFUSALS_DAYS * DAY_MS],
    // As long as Redis keeps them; what has no period is never over.
    ['spent_accounts', "changed_at < $1 and name not like '%:total'", nowMs - ACCOUNTS_DAYS * DAY_MS],
  ];
  for (const [table, where, before] of slices) await deleteSlices({ database, lease }, table, where, before);
  await lease.write((queries) => trimAudit(queries, MAX_AUDIT_ENTRIES));
  if (database.dialect === 'sqlite')
    await lease.write(({ query }) => query(`pragma incremental_vacuum(${FREED_PAGES})`));
}

/** The rows of hours, days and weeks that were over then. */
const slicesOfSums = (table: string, beforeMs: number) =>
  UNITS.map((unit): [table: string, where: string, before: number] => [
    table,
    `grain in (${grainsOf(unit).join(', ')}) and start < $1`,
    Math.floor(hourNumber(beforeMs) / HOURS_IN[unit]),
  ]);

/** The columns that a table's rows are found by. */
const KEYS: Readonly<Record<string, string>> = {
  usage_sums: 'grain, start, group_id',
  usage_latencies: 'grain, start, group_id, bucket',
  refusal_counts: 'id',
  spent_accounts: 'name',
};

async function deleteSlices(
  { database, lease }: Pick<RetentionOptions, 'database' | 'lease'>,
  table: string,
  where: string,
  before: number,
): Promise<void> {
  const place = KEYS[table] ?? (database.dialect === 'postgres' ? 'ctid' : 'rowid');
  for (let slice = 0; slice < MAX_SLICES; slice += 1) {
    const rows = await lease.write(({ query }) =>
      query(
        `delete from ${table} where (${place}) in (select ${place} from ${table} where ${where} limit ${SLICE}) returning 1 as one`,
        [before],
      ),
    );
    if (Deleted.parse(rows).length < SLICE) return;
  }
}
