import { mkdir, open, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConfigError } from '@gateway/contracts/config-error';
import { type Database, inTurn, type Queries, QueryError } from './database.ts';
import { type SqliteThread, startSqliteThread } from './sqlite-client.ts';
import type { SqliteAnswer, SqliteQuery } from './sqlite-messages.ts';

const OWNER_ONLY = 0o600;

/** The types of network file systems, of `statfs`: NFS, SMB (three of them) and Ceph. */
const NETWORK_FILE_SYSTEMS = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x00c36400]);

/** SQLite's primary codes for values that it will never take: CONSTRAINT, TOOBIG, MISMATCH, RANGE. */
const DATA_CODES = new Set([19, 18, 20, 25]);
/** And for a file that it may not use, or that is none of its own: PERM, READONLY, CANTOPEN, NOTADB. */
const ACCESS_CODES = new Set([3, 8, 14, 26]);

/**
 * Opens a file as a SQLite database in a thread of its own, and makes it if it is missing.
 *
 * @throws {ConfigError} where the file cannot be used
 */
export async function openSqlite(path: string): Promise<Database> {
  await prepareFile(path);
  let thread: SqliteThread | null = await startSqliteThread(path).catch((error: unknown) => {
    throw unusable(path, error);
  });
  let isClosed = false;
  /** A transaction waits for the whole of the one before it. */
  let last: Promise<unknown> = Promise.resolve();

  const run = async (query: SqliteQuery): Promise<SqliteAnswer> => {
    if (isClosed) throw new QueryError('away', 'the database has been closed');
    try {
      // A thread that has ended, such as for want of memory, is started again.
      thread ??= await startSqliteThread(path);
      return await thread.ask(query);
    } catch (error) {
      await thread?.terminate();
      thread = null;
      throw new QueryError('away', 'the thread of the database has ended', error);
    }
  };
  const queries = inTurn(async (sql, values = []) => {
    const answer = await run({ sql, values });
    if ('error' in answer) throw new QueryError(kindOf(answer.error.code), answer.error.message);
    return answer.rows.map((row) => ({ ...row }));
  });
  const transaction = <T>(begin: string, work: (queries: Queries) => Promise<T>): Promise<T> => {
    const done = last.then(async () => {
      await queries.query(begin);
      try {
        const result = await work(queries);
        await queries.query('commit');
        return result;
      } catch (error) {
        await queries.query('rollback').catch(() => undefined);
        throw error;
      }
    });
    last = done.catch(() => undefined);
    return done;
  };

  return {
    dialect: 'sqlite',
    read: (work) => transaction('begin', work),
    write: (work) => transaction('begin immediate', work),
    [Symbol.asyncDispose]: async () => {
      await last;
      if (isClosed) return;
      isClosed = true;
      await thread?.close();
    },
  };
}

async function prepareFile(path: string): Promise<void> {
  const folder = dirname(path);
  try {
    await mkdir(folder, { recursive: true });
    const { type } = await statfs(folder);
    if (NETWORK_FILE_SYSTEMS.has(type))
      throw new ConfigError(
        `The data folder ${folder} is on a network file system, where a SQLite database breaks. Set DATABASE_URL to a PostgreSQL, or GATEWAY_DATA_DIR to a folder on a disk of this machine.`,
      );
    // SQLite gives the files that it makes beside it the same mode.
    await (await open(path, 'a', OWNER_ONLY)).close();
  } catch (error) {
    throw error instanceof ConfigError ? error : unusable(path, error);
  }
}

function unusable(path: string, error: unknown): ConfigError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ConfigError(
    `The database ${path} cannot be used (${reason}). Make its folder writable, set GATEWAY_DATA_DIR to another one, or set DATABASE_URL to a PostgreSQL.`,
  );
}

function kindOf(code: number): QueryError['kind'] {
  const primary = code & 0xff;
  if (DATA_CODES.has(primary)) return 'data';
  return ACCESS_CODES.has(primary) ? 'access' : 'away';
}
