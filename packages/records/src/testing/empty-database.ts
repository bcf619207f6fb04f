import type { Database } from '../database/database.ts';

/** Deletes everything from a database that is in use, as if another recorder had taken over: what one has under way is not written. */
export async function emptyDatabase(database: Database): Promise<void> {
  await database.write(async ({ query }) => {
    await query("update recorder set term = term + 1, holder = '', lease_until = 0");
    for (const table of [
      'stream_cursors',
      'usage_records',
      'usage_sums',
      'usage_latencies',
      'refusal_counts',
      'access_records',
      'access_changes',
      'audit_log',
      'configuration_revisions',
      'spent_accounts',
      'stored_trees',
      'stored_records',
      'stored_nodes',
      'stored_parts',
      'stored_owners',
      'people',
      'group_rules',
    ])
      await query(`delete from ${table}`);
  });
}
