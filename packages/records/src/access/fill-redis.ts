import type { Projection } from '@gateway/metering/keys/records/projection';
import type { Database } from '../database/database.ts';
import { readRecords } from './access-rows.ts';
import { readSpent } from './spent-accounts.ts';

const AT_ONCE = 500;

interface FillOptions {
  readonly database: Database;
  readonly projection: Projection;
  readonly stopping: AbortSignal;
}

/**
 * Writes to Redis all that it has from the database: first what accounts have spent, then teams, then keys, so that no key is found
 * before what limits it. Later versions stay. Returns how many keys there are.
 */
export async function fillRedis({ database, projection, stopping }: FillOptions): Promise<number> {
  for (let after = ''; !stopping.aborted; ) {
    const accounts = await database.read((queries) => readSpent(queries, { after, limit: AT_ONCE }));
    await projection.putAccounts(accounts);
    const last = accounts.at(-1);
    if (last === undefined || accounts.length < AT_ONCE) break;
    after = last.name;
  }
  let keys = 0;
  for (const kind of ['team', 'key'] as const) {
    for (let after: string | undefined; !stopping.aborted; ) {
      const from = after;
      const records = await database.read((queries) =>
        readRecords(queries, { kind, order: 'ascending', after: from, limit: AT_ONCE }),
      );
      await projection.put(records);
      if (kind === 'key') keys += records.length;
      after = records.at(-1)?.id;
      if (after === undefined || records.length < AT_ONCE) break;
    }
  }
  if (!stopping.aborted) await projection.complete();
  return keys;
}
