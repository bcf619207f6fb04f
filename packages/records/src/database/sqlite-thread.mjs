/**
 * The thread of a SQLite database: it runs one query after the other, so that none of them holds up the process.
 *
 * It is JavaScript and imports nothing: each thread has its own copy of what it loads, and Node's removal of types alone takes 13 MB and
 * a tenth of a second of processor time.
 *
 * @import { StatementSync } from 'node:sqlite'
 * @import { SqliteAnswer, SqliteFile, SqliteQuery } from './sqlite-messages.ts'
 */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** A writer of another process may hold the file so long. */
const BUSY_TIMEOUT_MS = 5000;
/** Of pages in memory, in KiB. */
const CACHE_KIB = 4096;
/** Longer texts are lists of values, hardly two of them alike. */
const MAX_REMEMBERED_LENGTH = 20_000;
const MAX_REMEMBERED = 100;

const PLACE = /\$(\d+)/g;

/** @type {SqliteFile} */
const { path } = workerData;
const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
database.exec(`
  pragma auto_vacuum = incremental;
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma cache_size = -${CACHE_KIB};
`);

/**
 * Statements by their text, each with the number of the value at each of its places.
 *
 * @type {Map<string, { readonly statement: StatementSync, readonly places: readonly number[] }>}
 */
const remembered = new Map();

/** @param {string} sql */
function prepare(sql) {
  const known = remembered.get(sql);
  if (known !== undefined) return known;
  /** @type {number[]} */
  const places = [];
  const text = sql.replaceAll(PLACE, (_, number) => {
    places.push(Number(number) - 1);
    return '?';
  });
  const prepared = { statement: database.prepare(text), places };
  if (sql.length <= MAX_REMEMBERED_LENGTH) {
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(sql, prepared);
  }
  return prepared;
}

/** @param {unknown} error */
const codeOf = (error) =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : 0;

/**
 * @param {SqliteQuery} query
 * @returns {SqliteAnswer}
 */
function answer({ sql, values }) {
  try {
    const { statement, places } = prepare(sql);
    return { rows: statement.all(...places.map((place) => values[place] ?? null)) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { error: { message, code: codeOf(error) } };
  }
}

parentPort?.on('message', (/** @type {SqliteQuery | 'close'} */ message) => {
  if (message === 'close') {
    database.close();
    parentPort?.close();
  } else {
    parentPort?.postMessage(answer(message));
  }
});
parentPort?.postMessage('open');
