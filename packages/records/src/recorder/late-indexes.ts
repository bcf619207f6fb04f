import { CALLER_NAMES } from '@gateway/contracts/usage/caller-names';
import type { Database } from '../database/database.ts';
import { columnOf } from '../database/migrations.ts';
import type { Lease } from './lease.ts';
import { partitionNames } from './partitions.ts';

// Indexes of the table of records that came after it: to make one reads all of it, and no start waits for that.

const TABLE = 'usage_records';

/** What callers name their requests by. Few give all: the indexes have only those that do. */
const INDEXES = CALLER_NAMES.map(columnOf).map((column) => ({
  name: column,
  rows: `(${column}, ended_at, ended_seq) where ${column} is not null`,
}));

/** Makes those that are missing. A page that needs one is slow until it is there. */
export async function createLateIndexes({
  database,
  lease,
}: {
  readonly database: Database;
  readonly lease: Pick<Lease, 'write'>;
}): Promise<void> {
  for (const { name, rows } of INDEXES) {
    const create = (table: string) =>
      lease.write(({ query }) => query(`create index if not exists ${table}_${name} on ${table} ${rows}`));
    if (database.dialect === 'postgres') {
      const found = await database.read(({ query }) =>
        query('select 1 as one from pg_indexes where schemaname = current_schema() and indexname = $1', [
          `${TABLE}_${name}`,
        ]),
      );
      if (found.length > 0) continue;
      // One by one, for the time that each takes: the table's own takes them in.
      for (const partition of await database.read(partitionNames)) await create(partition);
    }
    await create(TABLE);
  }
}
