import { GatewayError } from '@gateway/contracts/gateway-error';
import type { AuditEntry } from '@gateway/metering/audit/audit-log';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { AccessRecords } from '@gateway/metering/keys/records/access-records';
import type { ProjectedRecord, Projection } from '@gateway/metering/keys/records/projection';
import { writeAudit } from '../audit/audit-rows.ts';
import { awaitDatabase } from '../database/await-database.ts';
import { type Database, placesOf, type Queries } from '../database/database.ts';
import { createDatabaseId } from '../database/facts.ts';
import { addKeys } from '../key-uses/key-uses.ts';
import { readKeys } from '../key-uses/read-keys.ts';
import { readChanges, readRecord, readRecords, takeVersions } from './access-rows.ts';
import { foundBy } from './found-by.ts';

interface AccessStoreOptions {
  readonly database: Database;
  readonly projection: Pick<Projection, 'claim' | 'put'>;
  readonly now: () => number;
  /** Resolves when the database has all records. @throws {GatewayError} where that takes too long */
  readonly opened: () => Promise<void>;
}

const MEANWHILE = 'Keys and teams can be neither shown nor changed until then; callers are served as before.';
/** Apart from the numbers that Redis gives to the entries of a millisecond. */
export const FIRST_AUDIT_SEQ = 1_000_000_000;
const CHANGES_AT_ONCE = 500;

/** Why a gateway leaves a Redis alone that one with another database uses, for so many milliseconds more. */
export const otherDatabase = (ms: number): string =>
  `Redis is in use by a gateway with another database. All admin services of a gateway need the same one: set DATABASE_URL to one PostgreSQL for each. If the other gateway has ended, start this one again in ${Math.ceil(ms / 1000)} seconds.`;

/** Keys and teams in the database, from where every change goes to Redis. */
export function createAccessStore({ database, projection, now, opened }: AccessStoreOptions): AccessRecords {
  const databaseId = createDatabaseId(database);
  const read = async <T>(work: (queries: Queries) => Promise<T>): Promise<T> => {
    await opened();
    return awaitDatabase(database.read(work), MEANWHILE);
  };

  return {
    get: (kind, id) => read(async (queries) => (await readRecord(queries, kind, id))?.text ?? null),

    list: async (kind, { limit, after, only, order }) => {
      if (kind === 'key') return read((queries) => readKeys(queries, { limit, after, only, order }));
      const found = await read((queries) =>
        readRecords(queries, { kind, order: 'ascending', after, limit: limit + 1, only }),
      );
      const records = found.slice(0, limit);
      return { records, next: found.length > limit ? (records.at(-1)?.id ?? null) : null };
    },

    change: async ({ kind, id, before, after, by, audit }) => {
      await opened();
      const ownId = await awaitDatabase(databaseId(), MEANWHILE);
      // Where Redis is away nothing is changed: nobody would know of it.
      const takenMs = await awaitRedis(projection.claim(ownId));
      if (takenMs > 0) throw new GatewayError('service_unavailable', { message: otherDatabase(takenMs) });
      const text = after === null ? null : JSON.stringify(after);
      const write = async (queries: Queries): Promise<ProjectedRecord | null> => {
        const version = await takeVersions(queries, 1);
        if (((await readRecord(queries, kind, id))?.text ?? null) !== before) return null;
        if (text === null)
          await queries.query('delete from access_records where kind = $1 and id = $2', [kind, id]);
        else await writeRecords(queries, [{ kind, id, version, text }]);
        await queries.query('insert into access_changes (version, kind, id) values ($1, $2, $3)', [
          version,
          kind,
          id,
        ]);
        const atMs = now();
        const entry: AuditEntry = { at: new Date(atMs).toISOString(), ...by, subject: id, ...audit };
        await writeAudit(queries, [
          { id: { ms: atMs, seq: FIRST_AUDIT_SEQ + version }, text: JSON.stringify(entry) },
        ]);
        return { kind, id, version, text };
      };
      const written = await awaitDatabase(database.write(write), MEANWHILE);
      if (written === null) return false;
      try {
        await projection.put([written]);
        await forgetChanges(database, [written.version]);
      } catch {
        // It has happened: who follows the changes brings it to Redis.
      }
      return true;
    },
  };
}

export async function writeRecords(
  { query }: Queries,
  records: readonly (ProjectedRecord & { readonly text: string })[],
  /** What becomes of a record that is there. */
  there: 'replace' | 'keep' = 'replace',
): Promise<void> {
  if (records.length === 0) return;
  const rows = records.map(({ kind, id, version, text }) => ({
    ...{ kind, id, version, content: text },
    ...foundBy({ kind, id, text }),
  }));
  const columns = Object.keys(rows[0] ?? {});
  const changed = columns.map((column) => `${column} = excluded.${column}`).join(', ');
  await query(
    `insert into access_records (${columns.join(', ')}) values ${placesOf(rows.length, columns.length)}
     on conflict (kind, id) do ${there === 'keep' ? 'nothing' : `update set ${changed}`}`,
    rows.flatMap((row) => Object.values(row)),
  );
  await addKeys(
    { query },
    records.flatMap(({ kind, id }) => (kind === 'key' ? [id] : [])),
  );
}

async function forgetChanges(database: Database, versions: readonly number[]): Promise<void> {
  await database.write(({ query }) =>
    query(`delete from access_changes where version in ${placesOf(1, versions.length)}`, versions),
  );
}

/** Brings to Redis what was changed while it was away, or by a process that ended. */
export async function projectChanges(database: Database, projection: Pick<Projection, 'put'>): Promise<void> {
  for (;;) {
    const changes = await database.read((queries) => readChanges(queries, CHANGES_AT_ONCE));
    if (changes.length === 0) return;
    await projection.put(changes.map(({ record }) => record));
    await forgetChanges(
      database,
      changes.map(({ change }) => change),
    );
    if (changes.length < CHANGES_AT_ONCE) return;
  }
}
