import { z } from 'zod';
import type { Queries } from '../database/database.ts';

// PostgreSQL keeps records in a partition for each month (UTC) in which their requests began, so that old ones can be dropped whole.

const PREFIX = 'usage_records_';
const NAME = new RegExp(`^${PREFIX}(\\d{4})_(\\d{2})$`);
const YEAR_MS = 366 * 86_400_000;
const MONTHS_AHEAD = 2;

const Names = z.array(z.object({ name: z.string() }));

/** The month that lies so many after the one of a moment. */
const monthStart = (atMs: number, later = 0): number => {
  const date = new Date(atMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1);
};
const nameOf = (startMs: number): string =>
  PREFIX + new Date(startMs).toISOString().slice(0, 7).replace('-', '_');

export async function partitionNames({ query }: Queries): Promise<ReadonlySet<string>> {
  const rows = await query(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'usage_records'::regclass`,
  );
  return new Set(Names.parse(rows).map(({ name }) => name));
}

/**
 * Makes the partitions that records of these moments need, where they are not far from now: others are in the partition of
 * the rest. The next months' are made ahead, before there is anything that would have to be moved into them.
 */
export async function preparePartitions(queries: Queries, startsMs: readonly number[]): Promise<void> {
  const nowMs = Date.now();
  const months = new Set(
    [...startsMs, nowMs].flatMap((atMs) =>
      Math.abs(atMs - nowMs) > 2 * YEAR_MS
        ? []
        : Array.from({ length: MONTHS_AHEAD }, (_, later) => monthStart(atMs, later)),
    ),
  );
  const known = await partitionNames(queries);
  for (const startMs of months)
    if (!known.has(nameOf(startMs)))
      await queries.query(
        `create table if not exists ${nameOf(startMs)} partition of usage_records for values from (${startMs}) to (${monthStart(startMs, 1)})`,
      );
}

/** Drops the partitions of months that had ended before this moment. */
export async function dropPartitions(queries: Queries, beforeMs: number): Promise<void> {
  for (const name of await partitionNames(queries)) {
    const [, year, month] = NAME.exec(name) ?? [];
    if (year === undefined || month === undefined) continue;
    if (monthStart(Date.UTC(Number(year), Number(month) - 1), 1) <= beforeMs)
      await queries.query(`drop table ${name}`);
  }
}
