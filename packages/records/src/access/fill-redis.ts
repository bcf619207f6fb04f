import type { Projection } from '@gateway/metering/keys/records/projection';
import type { Database } from '../database/database.ts';
import { missingRecords, readRecords, readVersion } from './access-rows.ts';
import { readSpent } from './spent-accounts.ts';

const AT_ONCE = 500;

interface FillOptions {
  readonly database: Database;
  /** Its id. */
  readonly databaseId: string;
  readonly projection: Projection;
  readonly stopping: AbortSignal;
}

/**
 * Writes to Redis all that it has from the database: first what accounts have spent, then teams, then keys, so that no key is found
 * before what limits it. Later versions stay; what the database does not have goes. Returns how many keys there are.
 */
export async function fillRedis(options: FillOptions): Promise<number> {
  const { database, databaseId, projection, stopping } = options;
  for (let after = ''; !stopping.aborted; ) {
    const accounts = await database.read((queries) => readSpent(queries, { after, limit: AT_ONCE }));
    await projection.putAccounts(accounts);
    const last = accounts.at(-1);
    if (last === undefined || accounts.length < AT_ONCE) break;
    after = last.name;
  }
  let [keys, put] = [0, 0];
  for (const kind of ['team', 'key'] as const) {
    for (let after: string | undefined; !stopping.aborted; ) {
      const from = after;
      const records = await database.read((queries) =>
        readRecords(queries, { kind, order: 'ascending', after: from, limit: AT_ONCE }),
      );
      await projection.put(records);
      put += records.length;
      if (kind === 'key') keys += records.length;
      after = records.at(-1)?.id;
      if (after === undefined || records.length < AT_ONCE) break;
    }
  }
  if ((await projection.count()) > put) await removeOthers(options);
  if (!stopping.aborted) await projection.complete(databaseId);
  return keys;
}

async function removeOthers({ database, projection, stopping }: FillOptions): Promise<void> {
  for await (const names of projection.names()) {
    if (stopping.aborted) return;
    for (const kind of ['team', 'key'] as const) {
      const ids = names.filter((one) => one.kind === kind).map(({ id }) => id);
      const { version, missing } = await database.read(async (queries) => ({
        // A record that is made after this has a later one.
        version: await readVersion(queries),
        missing: await missingRecords(queries, kind, ids),
      }));
      await projection.put(missing.map((id) => ({ kind, id, version, text: null })));
    }
  }
}
