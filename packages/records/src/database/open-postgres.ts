import { ConfigError } from '@gateway/contracts/config-error';
import pg from 'pg';
import { type Database, inTurn, type Queries, QueryError } from './database.ts';

const MAX_CONNECTIONS = 4;
const CONNECT_TIMEOUT_MS = 5000;
/** A query of ours takes a second at most; what takes longer has lost its server. Somebody waits for what is read. */
const READ_TIMEOUT_MS = 10_000;
const WRITE_TIMEOUT_MS = 30_000;
const IDLE_MS = 30_000;

/** Whole numbers that `pg` would return as text; ours stay below 2^53, and sums of them too. */
const INT8 = 20;
const NUMERIC = 1700;

/** What no other attempt changes: invalid data, integrity, a limit of the program. */
const DATA_CLASSES = new Set(['22', '23', '54']);
/** Password, user, database, privileges. */
const ACCESS_CODES = new Set(['28P01', '28000', '3D000', '42501']);
const ACCESS_HINT = 'Correct the user, the password or the name of the database in DATABASE_URL.';

const ignore = (): void => undefined;

/** A pool of connections to a PostgreSQL; it connects when it is used. */
export function openPostgres(url: string, readTimeoutMs = READ_TIMEOUT_MS): Database {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'gateway',
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    types: {
      getTypeParser: (type, format) =>
        type === INT8 || type === NUMERIC ? Number : pg.types.getTypeParser(type, format),
    },
  });
  // An idle connection that breaks: the next query opens another one.
  pool.on('error', ignore);

  const transaction = async <T>(
    { begin, timeoutMs }: { readonly begin: string; readonly timeoutMs: number },
    work: (queries: Queries) => Promise<T>,
  ): Promise<T> => {
    const client = await pool.connect().catch((error: unknown) => {
      throw failure(error);
    });
    // A connection that breaks while it is in use says so to its query, and once more here, where nobody listening would end the process.
    client.on('error', ignore);
    let broken: Error | undefined;
    const queries = inTurn(async (sql, values = []) => {
      try {
        // `query_timeout` is of `pg`, whose types know it for the whole pool only.
        const query = { text: sql, values: [...values], query_timeout: timeoutMs };
        return (await client.query<Record<string, unknown>>(query)).rows;
      } catch (error) {
        const failed = failure(error);
        if (failed.kind === 'away') broken = failed;
        throw failed;
      }
    });
    try {
      await queries.query(begin);
      const result = await work(queries);
      await queries.query('commit');
      return result;
    } catch (error) {
      if (broken === undefined) await queries.query('rollback').catch(() => undefined);
      throw error;
    } finally {
      client.off('error', ignore);
      client.release(broken);
    }
  };

  return {
    dialect: 'postgres',
    read: (work) =>
      transaction(
        { begin: 'begin isolation level repeatable read read only', timeoutMs: readTimeoutMs },
        work,
      ),
    write: (work) => transaction({ begin: 'begin', timeoutMs: WRITE_TIMEOUT_MS }, work),
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

function failure(error: unknown): QueryError {
  if (error instanceof QueryError) return error;
  const message = error instanceof Error ? error.message || error.name : String(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (ACCESS_CODES.has(code)) return new QueryError('access', message, error);
  return new QueryError(DATA_CLASSES.has(code.slice(0, 2)) ? 'data' : 'away', message, error);
}

/** The host and the database of a URL, for messages: never its user or password. */
export function databaseAddress(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

/** The sentence for a PostgreSQL that refuses us. */
export const refusedBy = (url: string, { message }: QueryError): ConfigError =>
  new ConfigError(
    `The PostgreSQL at ${databaseAddress(url)} (DATABASE_URL) refuses the gateway: ${message}. ${ACCESS_HINT}`,
  );
