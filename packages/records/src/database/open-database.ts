import { join } from 'node:path';
import { ConfigError } from '@gateway/contracts/config-error';
import { z } from 'zod';
import { type Database, QueryError } from './database.ts';
import { migrate } from './migrate.ts';
import { openSqlite } from './open-sqlite.ts';

/** In the data folder. */
const FILE = 'gateway.db';
/** The oldest major version of PostgreSQL that will do. */
const MIN_POSTGRES = 13;

export interface DatabaseSettings {
  readonly GATEWAY_DATA_DIR: string;
  readonly DATABASE_URL?: string | undefined;
}

/** Where SQLite's file is. */
export const sqlitePath = ({ GATEWAY_DATA_DIR }: Pick<DatabaseSettings, 'GATEWAY_DATA_DIR'>): string =>
  join(GATEWAY_DATA_DIR, FILE);

/** The database of the settings. */
export interface OpenedDatabase {
  readonly database: Database;
  /** False while it has not answered yet: `prepare` has to succeed before anything is read or written. */
  readonly isPrepared: boolean;
  /** Checks its version and brings its schema to ours. @throws {ConfigError | QueryError} */
  prepare(): Promise<void>;
}

/**
 * Opens the PostgreSQL of `DATABASE_URL`, or the file in the data folder. A PostgreSQL that is away does not stop the process: what
 * serves requests does not need it.
 *
 * @throws {ConfigError} where it refuses us, is too old, or was used by a newer gateway
 */
export async function openDatabase(
  settings: DatabaseSettings,
  minPostgres = MIN_POSTGRES,
): Promise<OpenedDatabase> {
  const { DATABASE_URL } = settings;
  if (DATABASE_URL === undefined) {
    const database = await openSqlite(sqlitePath(settings));
    return opened(database, () => migrate(database));
  }
  // Its client is loaded only where it is used.
  const { openPostgres, refusedBy, databaseAddress } = await import('./open-postgres.ts');
  const database = openPostgres(DATABASE_URL);
  return opened(database, async () => {
    try {
      await checkVersion(database, databaseAddress(DATABASE_URL), minPostgres);
      await migrate(database);
    } catch (error) {
      throw error instanceof QueryError && error.kind === 'access' ? refusedBy(DATABASE_URL, error) : error;
    }
  });
}

async function opened(database: Database, prepare: () => Promise<void>): Promise<OpenedDatabase> {
  try {
    await prepare();
    return { database, isPrepared: true, prepare };
  } catch (error) {
    if (error instanceof QueryError && error.kind === 'away') return { database, isPrepared: false, prepare };
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

const ServerVersion = z.tuple([z.object({ number: z.coerce.number(), name: z.string() })]);

async function checkVersion(database: Database, address: string, min: number): Promise<void> {
  const rows = await database.read(({ query }) =>
    query(
      "select current_setting('server_version_num') as number, current_setting('server_version') as name",
    ),
  );
  const [{ number, name }] = ServerVersion.parse(rows);
  if (number < min * 10_000)
    throw new ConfigError(
      `The PostgreSQL at ${address} (DATABASE_URL) has version ${name}; ${min} or newer is needed. Upgrade it, or set DATABASE_URL to another one.`,
    );
}

/**
 * Checks the PostgreSQL of a URL before anything is started.
 *
 * @throws {ConfigError} where it does not answer, refuses us, is too old, or was used by a newer gateway
 */
export async function checkDatabase(DATABASE_URL: string): Promise<void> {
  const { databaseAddress } = await import('./open-postgres.ts');
  const { database, isPrepared, prepare } = await openDatabase({ GATEWAY_DATA_DIR: '', DATABASE_URL });
  try {
    if (!isPrepared) await prepare();
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    throw new ConfigError(
      `The PostgreSQL at ${databaseAddress(DATABASE_URL)} (DATABASE_URL) cannot be used: ${error.message}. Start or repair it, or correct the URL.`,
    );
  } finally {
    await database[Symbol.asyncDispose]();
  }
}
