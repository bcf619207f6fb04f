import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import type { SqliteAnswer, SqliteFile, SqliteQuery } from './sqlite-messages.ts';

/** Of the thread: queries of ours return pages, never whole tables. */
const MAX_HEAP_MB = 128;
const THREAD = new URL('./sqlite-thread.mjs', import.meta.url);

/** The other side is our own module. */
const Answer = z.custom<SqliteAnswer>((value) => typeof value === 'object');

/** The thread of a SQLite database, which runs one query after the other. */
export interface SqliteThread {
  /** The next query may be asked when the one before is answered. @throws {Error} where the thread has ended */
  ask(query: SqliteQuery): Promise<SqliteAnswer>;
  /** Closes the file and ends the thread. */
  close(): Promise<void>;
  /** Ends the thread whatever it does. */
  terminate(): Promise<void>;
}

/** @throws {Error} where the file cannot be opened */
export async function startSqliteThread(path: string): Promise<SqliteThread> {
  const workerData: SqliteFile = { path };
  const worker = new Worker(THREAD, {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: 2 },
    execArgv: [],
    // Nothing of this process's secrets is there to be found.
    env: {},
  });
  const ended = new AbortController();
  // Not `once` of node:events, which rejects for an error before the exit.
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  void exited.then(() => ended.abort());
  // What ends it is seen by the query that waits, or the next one.
  worker.on('error', () => undefined);

  /** The next message. Only meanwhile does the thread keep the process alive. */
  const receive = async (): Promise<unknown> => {
    worker.ref();
    try {
      const [message]: unknown[] = await once(worker, 'message', { signal: ended.signal });
      return message;
    } finally {
      worker.unref();
    }
  };
  await receive();
  return {
    ask: async (query) => {
      const answer = receive();
      worker.postMessage(query);
      return Answer.parse(await answer);
    },
    close: async () => {
      worker.ref();
      worker.postMessage('close');
      await exited;
    },
    terminate: async () => {
      await worker.terminate();
    },
  };
}
