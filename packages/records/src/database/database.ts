/** What a query takes and returns. Times are Unix milliseconds, truth values are 0 and 1: SQLite has no other types. */
export type SqlValue = string | number | null;
export type Row = Readonly<Record<string, unknown>>;

export type Dialect = 'sqlite' | 'postgres';

/** What runs within a transaction. */
export interface Queries {
  /** Values are named `$1`, `$2`, …; the same text runs on both databases. @throws {QueryError} */
  query(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
}

/** The database: a file of SQLite or a PostgreSQL. */
export interface Database extends AsyncDisposable {
  readonly dialect: Dialect;
  /** All of it is from one moment. @throws {QueryError} */
  read<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** All of it is written, or nothing where `work` throws. @throws {QueryError} */
  write<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
}

/** Runs each query after the one before it, also where nobody has waited for that: a connection answers one at a time. */
export function inTurn(query: Queries['query']): Queries {
  let last: Promise<unknown> = Promise.resolve();
  return {
    query: (sql, values) => {
      const answered = last.then(() => query(sql, values));
      last = answered.catch(() => undefined);
      return answered;
    },
  };
}

/** A query that failed. */
export class QueryError extends Error {
  /** Why: `data` where the database will never accept these values; `access` where it refuses us; else it is away, or full. */
  readonly kind: 'data' | 'access' | 'away';

  constructor(kind: 'data' | 'access' | 'away', message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'QueryError';
    this.kind = kind;
  }
}

/** `($1, $2), ($3, $4)`: the places of so many rows, beginning after `before` values. */
export function placesOf(rows: number, columns: number, before = 0): string {
  const place = (row: number) =>
    `(${Array.from({ length: columns }, (_, at) => `$${before + row * columns + at + 1}`).join(', ')})`;
  return Array.from({ length: rows }, (_, row) => place(row)).join(', ');
}

/** For `like … escape '\\'`: whatever has this part. */
export const likePattern = (part: string): string => `%${part.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
