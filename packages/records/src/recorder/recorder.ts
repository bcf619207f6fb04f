import { randomUUID } from 'node:crypto';
import type { BrokenRecord } from '@gateway/metering/broken-records';
import type { Redis } from 'ioredis';
import { QueryError } from '../database/database.ts';
import type { OpenedDatabase } from '../database/open-database.ts';
import { createGroupIds } from '../usage/usage-groups.ts';
import { createLease, LostLease } from './lease.ts';
import { moveAllSums } from './move-sums.ts';
import { createStreamRecorder, type StreamRecorder } from './record-streams.ts';
import { deleteOld } from './retention.ts';

export interface RecorderOptions {
  readonly redis: Redis;
  readonly opened: OpenedDatabase;
  readonly now: () => number;
  readonly keepRecordsDays: number;
  readonly keepSumsDays: number;
  readonly onBroken: (broken: BrokenRecord) => void;
  /** What happened that a person may want to know. */
  readonly report: (event: RecorderEvent) => void;
  /** Default: a second. */
  readonly everyMs?: number;
}

export interface RecorderEvent {
  readonly what: 'waiting' | 'recording again' | 'moved' | 'read again';
  /** Why it waits; how much was moved; why it reads again. */
  readonly detail: string;
}

/** What keeps usage from the database; null where nothing does. */
export interface RecorderTrouble {
  readonly sinceMs: number;
  readonly reason: string;
}

/**
 * Brings usage from the streams of Redis into the database, each entry once: rows and how far the stream has been read are one
 * transaction. Of several recorders one works at a time.
 */
export interface Recorder extends AsyncDisposable {
  /** One round; it throws nothing. Rounds never overlap. */
  round(): Promise<void>;
  trouble(): RecorderTrouble | null;
}

const EVERY_MS = 1000;
const ROUNDS_OF_RETENTION = 600;

export function createRecorder(options: RecorderOptions): Recorder {
  const { redis, opened, now, keepRecordsDays, keepSumsDays, onBroken, report, everyMs = EVERY_MS } = options;
  const { database } = opened;
  const lease = createLease({ database, holder: randomUUID(), now });
  const groupIds = createGroupIds();
  const closing = new AbortController();
  const stopping = closing.signal;
  let isPrepared = opened.isPrepared;
  /** Of the term of this recorder; null where it has none, or may not know what it wrote last. */
  let streams: StreamRecorder | null = null;
  let rounds = 0;
  let found: RecorderTrouble | null = null;

  const begin = async (): Promise<StreamRecorder> => {
    groupIds.forget();
    rounds = 0;
    // Before any record, since it looks at which days have their records in Redis.
    const moved = await moveAllSums({
      redis,
      database,
      lease,
      groupIds,
      onBroken,
      stopping,
    });
    if (moved > 0) report({ what: 'moved', detail: `the sums of ${moved} days` });
    return createStreamRecorder({
      redis,
      database,
      lease,
      groupIds,
      now,
      keepRecordsDays,
      onBroken,
      report,
      stopping,
    });
  };

  const work = async (): Promise<void> => {
    if (!isPrepared) {
      await opened.prepare();
      isPrepared = true;
    }
    const { isHeld, isNew } = await lease.hold();
    if (!isHeld || isNew) streams = null;
    if (!isHeld) return;
    streams ??= await begin();
    await streams.record();
    if (rounds % ROUNDS_OF_RETENTION === 0)
      await deleteOld({ database, lease, now, keepRecordsDays, keepSumsDays });
    rounds += 1;
  };

  const attempt = async (): Promise<void> => {
    try {
      await work();
      if (found !== null) report({ what: 'recording again', detail: '' });
      found = null;
    } catch (error) {
      streams = null;
      // While Redis is away there is nothing to record; who watches Redis reports it.
      const isOfDatabase = error instanceof QueryError || !isPrepared;
      if (error instanceof LostLease || stopping.aborted || !isOfDatabase) return;
      const reason = error instanceof Error ? error.message : String(error);
      if (found === null) report({ what: 'waiting', detail: reason });
      found = { sinceMs: found?.sinceMs ?? now(), reason };
    }
  };

  let running: Promise<void> = Promise.resolve();
  const round = (): Promise<void> => {
    running = running.then(attempt);
    return running;
  };
  let timer: NodeJS.Timeout | undefined;
  const next = (): void => {
    if (!stopping.aborted) timer = setTimeout(() => void round().then(next), everyMs).unref();
  };
  next();

  return {
    round,
    trouble: () => found,
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      clearTimeout(timer);
      await running;
      if (isPrepared) await lease.release().catch(() => undefined);
    },
  };
}
