import { ConfigError } from '@gateway/contracts/config-error';
import { z } from 'zod';
import type { Database, Dialect } from './database.ts';
import { MIGRATIONS } from './migrations.ts';

/** Any number: the lock of our migrations in a PostgreSQL. SQLite's own lock on the file is enough. */
const LOCK = 7_402_613;

const Version = z.tuple([z.object({ version: z.int() })]);

/**
 * Brings the schema to this version; several processes may do so at the same time.
 *
 * @throws {ConfigError} where a newer gateway has been there
 */
export async function migrate(
  database: Database,
  migrations: readonly ((dialect: Dialect) => readonly string[])[] = MIGRATIONS,
): Promise<void> {
  await database.write(async ({ query }) => {
    if (database.dialect === 'postgres') await query('select pg_advisory_xact_lock($1)', [LOCK]);
    await query('create table if not exists schema_version (version bigint not null)');
    const rows = await query('select version from schema_version');
    if (rows.length === 0) await query('insert into schema_version (version) values (0)');
    const [{ version }] = rows.length === 0 ? [{ version: 0 }] : Version.parse(rows);
    if (version > migrations.length)
      throw new ConfigError(
        `The database has version ${version} of the schema, from a newer gateway; this one knows version ${migrations.length}. Start the newer gateway, or restore the backup from before its first start.`,
      );
    for (const migration of migrations.slice(version))
      for (const statement of migration(database.dialect)) await query(statement);
    await query('update schema_version set version = $1', [migrations.length]);
  });
}
