import type { Projection } from '@gateway/metering/keys/records/projection';
import {
  type EntryId,
  entryIdText,
  FIRST_ID,
  isAfter,
  type OutboxEntry,
  type OutboxStream,
  outboxStreams,
  parseEntryId,
  readOutbox,
} from '@gateway/metering/usage/outbox';
import { readSpentOf } from '../access/spent-accounts.ts';
import type { Database } from '../database/database.ts';
import { readFact, writeFact } from '../database/facts.ts';
import type { RecorderOptions } from './recorder.ts';
import { readCursors, type StreamCursors, writeCursor } from './stream-cursors.ts';
import { type WriteOptions, writeEntries } from './write-entries.ts';

export interface StreamRecorderOptions
  extends Pick<RecorderOptions, 'redis' | 'now' | 'keepRecordsDays' | 'report'>,
    Omit<WriteOptions, 'dialect' | 'charging'> {
  readonly database: Database;
  readonly projection: Pick<Projection, 'balance' | 'chargeLate'>;
  readonly timeZone: string;
  /** Redis may have lost what it had from the database. */
  readonly onOtherRedis: () => Promise<void>;
  readonly stopping: AbortSignal;
}

/** Records the streams for as long as one term lasts: what it has written it need not read. */
export interface StreamRecorder {
  /** Writes what has been appended since the last time. */
  record(): Promise<void>;
}

/** Entries of one transaction. */
const AT_ONCE = 1000;
/** Rounds between two that look for streams of any day, and trim those of these days. */
const ROUNDS_OF_ALL = 30;
const ACCOUNTS_AT_ONCE = 200;
const DAY_MS = 86_400_000;
/** What the database has stays in Redis for so long, for a database that loses its last transactions, or is set back. */
const KEEP_IN_REDIS_MS = 3_600_000;

/** Which Redis the cursors are of. */
const SOURCE = 'source';
const REPLICATION_ID = /^master_replid:(\S+)/m;

export function createStreamRecorder(options: StreamRecorderOptions): StreamRecorder {
  const { redis, database, lease, groupIds, now, keepRecordsDays, onBroken, report, stopping } = options;
  const { projection, timeZone, onOtherRedis } = options;
  /** Accounts to which Redis may have charged a request twice. */
  const unbalanced = new Set<string>();
  const charging = {
    projection,
    timeZone,
    now,
    onChargedAgain: (accounts: readonly string[]) => {
      for (const name of accounts) unbalanced.add(name);
    },
  };
  const cursors = new Map<string, EntryId>();
  let source: string | null = null;
  let rounds = 0;

  /** A Redis that is another one than before may have other entries where this one has been: all of them are read again. */
  const checkSource = async (): Promise<void> => {
    const [, current] = REPLICATION_ID.exec(await redis.info('replication')) ?? [];
    if (current === undefined || current === source) return;
    const before = await database.read((queries) => readFact(queries, SOURCE));
    if (before !== current) {
      if (before !== undefined) await onOtherRedis();
      await lease.write(async (queries) => {
        if (before !== undefined) await queries.query('delete from stream_cursors');
        await writeFact(queries, SOURCE, current);
      });
      cursors.clear();
      if (before !== undefined)
        report({ what: 'read again', detail: 'Redis was started again, or is another one' });
    }
    source = current;
  };

  const learnCursors = async (streams: readonly OutboxStream[]): Promise<void> => {
    const unknown = streams.filter(({ name }) => !cursors.has(name));
    if (unknown.length === 0) return;
    const known: StreamCursors = await database.read((queries) => readCursors(queries, unknown));
    for (const stream of unknown) cursors.set(stream.name, known(stream));
  };

  const recordStream = async (stream: OutboxStream, first: readonly OutboxEntry[]): Promise<void> => {
    for (let entries = first; entries.length > 0; ) {
      await writeEntries({ lease, dialect: database.dialect, groupIds, onBroken, charging }, stream, entries);
      const after = entries.at(-1)?.id ?? FIRST_ID;
      cursors.set(stream.name, after);
      if (entries.length < AT_ONCE || stopping.aborted) return;
      entries = await readOutbox(redis, stream, { after, count: AT_ONCE });
    }
  };

  const trim = async (stream: OutboxStream): Promise<void> => {
    const after = cursors.get(stream.name) ?? FIRST_ID;
    if (after === FIRST_ID) return;
    const last = (await redis.xrevrange(stream.name, '+', '-', 'COUNT', 1)).at(0)?.[0];
    if (last !== undefined && isAfter(after, parseEntryId(last))) {
      // It was made again, or comes from a backup.
      await lease.write((queries) => writeCursor(queries, stream, FIRST_ID));
      cursors.set(stream.name, FIRST_ID);
      report({ what: 'read again', detail: `${stream.name} ends before what has been recorded` });
      return;
    }
    const oldestMs = Math.min(after.ms, now() - KEEP_IN_REDIS_MS);
    await redis.xtrim(stream.name, 'MINID', entryIdText({ ms: oldestMs, seq: 0 }));
  };

  /** All that the streams had is in the database. */
  const balance = async (streams: readonly OutboxStream[]): Promise<void> => {
    const names = [...unbalanced].slice(0, ACCOUNTS_AT_ONCE);
    if (names.length === 0) return;
    const accounts = await database.read((queries) => readSpentOf(queries, names));
    const records = streams
      .filter(({ kind }) => kind === 'records')
      .map(({ name }) => ({ name, after: entryIdText(cursors.get(name) ?? FIRST_ID) }));
    if (await projection.balance(accounts, records)) for (const name of names) unbalanced.delete(name);
  };

  /** Streams of days long past or to come that hold anything: of a gateway that had no database, or of a process with a wrong clock. */
  const farStreams = async (): Promise<readonly OutboxStream[]> => {
    const farMs = keepRecordsDays * DAY_MS;
    const far = [
      ...outboxStreams(now() - farMs, now() - 2 * DAY_MS),
      ...outboxStreams(now() + 2 * DAY_MS, now() + farMs),
    ];
    const lengths = await redis.pipeline(far.map(({ name }) => ['xlen', name])).exec();
    return far.filter((_, at) => lengths?.[at]?.[1] !== 0);
  };

  return {
    record: async () => {
      await checkSource();
      const isOfAll = rounds % ROUNDS_OF_ALL === 0;
      rounds += 1;
      // A process's clock may be ahead, or behind.
      const near = outboxStreams(now() - DAY_MS, now() + DAY_MS);
      const streams = isOfAll ? [...(await farStreams()), ...near] : near;
      await learnCursors(streams);
      const read = async (stream: OutboxStream) => ({
        stream,
        entries: await readOutbox(redis, stream, {
          after: cursors.get(stream.name) ?? FIRST_ID,
          count: AT_ONCE,
        }),
      });
      // One round trip where there is nothing new; long past days one after the other, for their size.
      const isNear = new Set(near);
      for (const stream of streams)
        if (!isNear.has(stream) && !stopping.aborted)
          await recordStream(stream, (await read(stream)).entries);
      for (const { stream, entries } of await Promise.all(near.map(read)))
        if (!stopping.aborted) await recordStream(stream, entries);
      if (!stopping.aborted) await balance(near);
      if (isOfAll) for (const stream of streams) await trim(stream);
    },
  };
}
