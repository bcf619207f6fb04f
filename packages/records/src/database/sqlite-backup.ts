import { access, open, rename, rm } from 'node:fs/promises';
import { backup, DatabaseSync } from 'node:sqlite';
import { ConfigError } from '@gateway/contracts/config-error';
import { errorMessage } from '@gateway/contracts/error-message';
import { z } from 'zod';
import { MIGRATIONS } from './migrations.ts';
import { type DatabaseSettings, sqlitePath } from './open-database.ts';

const OWNER_ONLY = 0o600;
/** SQLite's code for a file that others use. */
const BUSY = 5;
const Version = z.object({ version: z.int() });
const Check = z.object({ quick_check: z.string() });

const missing = (path: string): Promise<boolean> =>
  access(path).then(
    () => false,
    () => true,
  );

/** The path of the settings' file. @throws {ConfigError} where the database is a PostgreSQL */
function fileOf(settings: DatabaseSettings, tools: string): string {
  if (settings.DATABASE_URL === undefined) return sqlitePath(settings);
  throw new ConfigError(`The database is the PostgreSQL of DATABASE_URL. Use its own tools: ${tools}.`);
}

/**
 * Copies the database to a new file as it is at one moment, also while a gateway uses it.
 *
 * @throws {ConfigError} where there is no database, or the file cannot be written
 */
export async function backUp(settings: DatabaseSettings, to: string): Promise<void> {
  const path = fileOf(settings, 'pg_dump');
  if (await missing(path))
    throw new ConfigError(`There is no database ${path}. Set GATEWAY_DATA_DIR to the gateway's data folder.`);
  await copy(path, to);
}

/**
 * Puts a backup in the place of the database. What was there before is kept beside it, with `.replaced` at the end of its name.
 *
 * @returns whether there was one
 * @throws {ConfigError} where the file is no backup of this gateway or an earlier one, or a gateway uses the database
 */
export async function restore(settings: DatabaseSettings, from: string): Promise<boolean> {
  const path = fileOf(settings, 'pg_restore');
  checkBackup(from);
  const fresh = `${path}.restored`;
  await rm(fresh, { force: true });
  await copy(from, fresh);
  forgetSource(fresh);
  const isReplaced = !(await missing(path));
  if (isReplaced) await moveAway(path);
  await rename(fresh, path);
  return isReplaced;
}

/** What Redis and the database say of each other is compared again: one of them is older now. */
function forgetSource(file: string): void {
  using database = new DatabaseSync(file);
  database.exec("update recorder_facts set value = 'restored' where name = 'source'");
}

async function copy(from: string, to: string): Promise<void> {
  try {
    await (await open(to, 'wx', OWNER_ONLY)).close();
  } catch (error) {
    throw new ConfigError(`The file ${to} cannot be made (${errorMessage(error)}). Choose another name.`);
  }
  try {
    using source = new DatabaseSync(from, { readOnly: true });
    await backup(source, to);
  } catch (error) {
    await rm(to, { force: true });
    throw new ConfigError(`${from} cannot be copied to ${to} (${errorMessage(error)}).`);
  }
}

/** @throws {ConfigError} */
function checkBackup(file: string): void {
  let version: number;
  try {
    using database = new DatabaseSync(file, { readOnly: true });
    const { quick_check } = Check.parse(database.prepare('pragma quick_check(1)').get());
    if (quick_check !== 'ok') throw new Error(quick_check);
    version = Version.parse(database.prepare('select version from schema_version').get()).version;
  } catch (error) {
    throw new ConfigError(`${file} is no backup of a gateway's database (${errorMessage(error)}).`);
  }
  if (version > MIGRATIONS.length)
    throw new ConfigError(
      `${file} is of a newer gateway: it has version ${version} of the schema, and this gateway knows version ${MIGRATIONS.length}. Restore it with the newer one.`,
    );
}

/** Moves the database away, with what lies beside it. @throws {ConfigError} where a gateway uses it */
async function moveAway(path: string): Promise<void> {
  if (isInUse(path))
    throw new ConfigError(`A gateway is using the database ${path}. Stop it, and restore then.`);
  for (const beside of ['', '-wal', '-shm'])
    if (!(await missing(path + beside))) await rename(path + beside, `${path}.replaced${beside}`);
}

/** Only who is alone may leave the mode in which several use a file; what cannot be read is used by nobody. */
function isInUse(path: string): boolean {
  try {
    using database = new DatabaseSync(path);
    database.exec('pragma journal_mode = delete');
    return false;
  } catch (error) {
    return error instanceof Error && 'errcode' in error && error.errcode === BUSY;
  }
}
