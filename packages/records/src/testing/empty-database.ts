import { openDatabase } from '../database/open-database.ts';

/** Deletes all usage from the database in a data folder, as if another recorder had taken over: what one has under way is not written. */
export async function emptyDatabase(dataFolder: string): Promise<void> {
  const { database } = await openDatabase({ GATEWAY_DATA_DIR: dataFolder });
  await using _ = database;
  await database.write(async ({ query }) => {
    await query("update recorder set term = term + 1, holder = '', lease_until = 0");
    for (const table of [
      'stream_cursors',
      'usage_records',
      'usage_sums',
      'usage_latencies',
      'refusal_counts',
    ])
      await query(`delete from ${table}`);
  });
}
