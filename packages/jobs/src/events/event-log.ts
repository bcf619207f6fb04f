import { defineScript, readScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';

/** Where a log of this id lies. The key of its entries is also the channel on which its changes are published. */
export interface LogKeys {
  readonly head: string;
  readonly entries: string;
}

export interface LogEntry {
  /** From 0, without gaps. */
  readonly number: number;
  /** In the order of the log's `names`. */
  readonly values: readonly string[];
}

/** What a reader gets. */
export interface LogPage {
  readonly entries: readonly LogEntry[];
  /** The number of the last entry in it, or the one that was read after. */
  readonly last: number;
  /** More entries may be there already. */
  readonly isFull: boolean;
  /** Nothing follows: `ended`; `full`: what follows is not kept; `gone`: it was removed, was forgotten, or has not begun. */
  readonly rest: 'more' | 'ended' | 'full' | 'gone';
}

/** How a log ends. */
export interface LogEnd {
  /** The last entries. */
  readonly entries?: readonly (readonly string[])[];
  /** Fields of the head that are set in the same step; an empty text removes one. `ending` among them says how it has ended. */
  readonly fields: Readonly<Record<string, string>> & { readonly ending: string };
  /** Until its head and its entries are forgotten. */
  readonly headSeconds: number;
  readonly seconds: number;
}

/**
 * What is told of a job or of a response while it is made: entries in a Redis stream, numbered by the script that appends them,
 * in whatever process that is. Read from any position, and followed by `followLog`. All methods throw what Redis throws.
 */
export interface EventLog {
  /** False where it has ended, or is not there and does not begin by itself: nothing is appended then. */
  append(id: string, entries: readonly (readonly string[])[]): Promise<boolean>;
  /** True for the one process that ends it. */
  end(id: string, end: LogEnd): Promise<boolean>;
  /** The entries with a number above this one, as far as they are there; a page of them at most. */
  read(id: string, after: number): Promise<LogPage>;
  remove(id: string): Promise<void>;
  /** The channel on which its changes are published. */
  channelOf(id: string): string;
}

interface LogOptions {
  readonly redis: Redis;
  readonly keysOf: (id: string) => LogKeys;
  /** What an entry's values are called in Redis. */
  readonly names: readonly string[];
  readonly maxBytes: number;
  /** Beyond its bytes: the oldest entries are dropped, or nothing more is kept and it is `full`. */
  readonly beyond: 'drop-oldest' | 'full';
  /** It begins with its first entry; else only after its head was made. */
  readonly begins: boolean;
  /** Until one that nobody ends is forgotten. */
  readonly unendedSeconds: number;
}

const WRITE = readScript(new URL('./write-log.lua', import.meta.url));
/** Entries that are read in one round trip. */
const PAGE = 200;
/** Logs whose length is known. Of others the length is what Redis has. */
const MAX_KNOWN = 1000;

export function createEventLog(options: LogOptions): EventLog {
  const { redis, keysOf, names, maxBytes, beyond, begins, unendedSeconds } = options;
  const writeLog = defineScript(redis, 'gatewayWriteLog', WRITE, z.tuple([z.number(), z.number()]));
  /** How many entries the logs have that this process writes, for some of them. */
  const known = new Map<string, number>();
  const bounds = { names, maxBytes, drops: beyond === 'drop-oldest' };

  const write = async (
    id: string,
    how: object,
    fields: readonly string[],
    entries: readonly (readonly string[])[],
  ): Promise<boolean> => {
    const keys = keysOf(id);
    const given = { ...bounds, ...how, fields: fields.length / 2, known: known.get(id) ?? 0 };
    const args = [JSON.stringify(given), ...fields, ...entries.flat()];
    const [isWritten, count] = await writeLog([keys.head, keys.entries], ...args);
    known.delete(id);
    const isOver = 'ends' in how || isWritten === 0;
    if (!isOver) known.set(id, count);
    const [oldest] = known.keys();
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
    return isWritten === 1;
  };

  return {
    append: (id, entries) =>
      write(id, { begins, headSeconds: unendedSeconds, seconds: unendedSeconds }, [], entries),
    end: (id, { entries = [], fields, headSeconds, seconds }) =>
      write(id, { ends: true, headSeconds, seconds }, Object.entries(fields).flat(), entries),
    read: async (id, after) => {
      const keys = keysOf(id);
      // The head first: of a log that has ended by then, every entry is there.
      const [isThere, [ending, full], found] = await Promise.all([
        redis.exists(keys.head),
        redis.hmget(keys.head, 'ending', 'full'),
        redis.xrange(keys.entries, `(${after + 1}-0`, '+', 'COUNT', PAGE),
      ]);
      const entries = found.map(([entry, fields]) => ({
        number: Number.parseInt(entry, 10) - 1,
        values: fields.filter((_, at) => at % 2 === 1),
      }));
      const isFull = entries.length === PAGE;
      const state = { isThere: isThere === 1, isMarkedFull: full !== null, hasEnded: ending !== null };
      return {
        entries,
        last: entries.at(-1)?.number ?? after,
        isFull,
        rest: isFull ? 'more' : restOf(state),
      };
    },
    remove: async (id) => {
      known.delete(id);
      const keys = keysOf(id);
      await redis.multi().del(keys.head, keys.entries).publish(keys.entries, '').exec();
    },
    channelOf: (id) => keysOf(id).entries,
  };
}

interface LogState {
  readonly isThere: boolean;
  readonly isMarkedFull: boolean;
  readonly hasEnded: boolean;
}

function restOf({ isThere, isMarkedFull, hasEnded }: LogState): LogPage['rest'] {
  if (!isThere) return 'gone';
  if (isMarkedFull) return 'full';
  return hasEnded ? 'ended' : 'more';
}
