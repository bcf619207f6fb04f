import type { SqlValue } from './database.ts';

/** Where the thread's database is. */
export interface SqliteFile {
  readonly path: string;
}

/** A query, as the thread gets it; they are answered in their order. */
export interface SqliteQuery {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** What the thread answers: rows, or SQLite's error. */
export type SqliteAnswer =
  | { readonly rows: readonly object[] }
  | { readonly error: { readonly message: string; readonly code: number } };
