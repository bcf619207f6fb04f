import { randomUUID } from 'node:crypto';
import type { BrokenRecord } from '@gateway/metering/broken-records';
import { createProjection } from '@gateway/metering/keys/records/projection';
import type { Redis } from 'ioredis';
import { createAccessKeeper, OtherDatabase } from '../access/access-keeper.ts';
import { type AuditRecorder, createAuditRecorder } from '../audit/record-audit.ts';
import { createConversationKeeper } from '../conversations/conversation-keeper.ts';
import type { MovedCounts } from '../conversations/conversation-mover.ts';
import { QueryError } from '../database/database.ts';
import type { OpenedDatabase } from '../database/open-database.ts';
import { moveWindow } from '../key-uses/key-uses.ts';
import { createGroupIds } from '../usage/usage-groups.ts';
import { createLateIndexes } from './late-indexes.ts';
import { createLease, LostLease } from './lease.ts';
import { moveAllSums } from './move-sums.ts';
import { createStreamRecorder, type StreamRecorder } from './record-streams.ts';
import { deleteOld } from './retention.ts';

export interface RecorderOptions {
  readonly redis: Redis;
  /** Of budget periods. */
  readonly timeZone: string;
  /** What must be among the keys before Redis has them all. It may be called again where it fails. */
  readonly prepareAccess?: (() => Promise<void>) | undefined;
  readonly opened: OpenedDatabase;
  readonly now: () => number;
  readonly keepRecordsDays: number;
  readonly keepSumsDays: number;
  /** Absent: stored conversations stay in Redis. */
  readonly conversations?: {
    /** A connection of its own: it blocks. */
    readonly asks: Redis;
    readonly moveAfterMs: number;
  };
  readonly onBroken: (broken: BrokenRecord) => void;
  /** What happened that a person may want to know. */
  readonly report: (event: RecorderEvent) => void;
  /** Default: a second. */
  readonly everyMs?: number;
}

export interface RecorderEvent {
  readonly what: 'waiting' | 'recording again' | 'moved' | 'read again' | 'filled Redis' | 'without index';
  /** Why it waits, or has no index; how much was moved; why it reads again; what Redis has got. */
  readonly detail: string;
}

/** What keeps usage from the database; null where nothing does. */
export interface RecorderTrouble {
  readonly kind: 'database away' | 'other database';
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
  /** Until when the database has everything, in Unix milliseconds; null while another recorder works, or before the first round. */
  recordedUntilMs(): number | null;
  /** Resolves when the database has all keys and teams. */
  readonly accessOpened: Promise<void>;
  /** Resolves when Redis has what it needs of them. */
  readonly accessFilled: Promise<void>;
  /** What became of stored conversations since the start of this process. */
  readonly movedCounts: MovedCounts;
}

const NOTHING_MOVED: MovedCounts = { movedOut: 0, broughtBack: 0, expired: 0 };
const EVERY_MS = 1000;
const ROUNDS_OF_WINDOW = 60;
const ROUNDS_OF_RETENTION = 600;

export function createRecorder(options: RecorderOptions): Recorder {
  const { redis, opened, now, keepRecordsDays, keepSumsDays, onBroken, report, everyMs = EVERY_MS } = options;
  const { database } = opened;
  const holder = randomUUID();
  const lease = createLease({ database, holder, now });
  const groupIds = createGroupIds();
  const closing = new AbortController();
  const stopping = closing.signal;
  let isPrepared = opened.isPrepared;
  /** Of the term of this recorder; null where it has none, or may not know what it wrote last. */
  let streams: StreamRecorder | null = null;
  let rounds = 0;
  let found: RecorderTrouble | null = null;
  let recordedUntilMs: number | null = null;
  const projection = createProjection(redis);
  const conversations =
    options.conversations &&
    createConversationKeeper({ ...options.conversations, redis, database, lease, holder, now, everyMs });
  const access = createAccessKeeper({
    ...options,
    ...{ projection, database, lease, stopping },
    // Who can use a key finds what its owner has in the database.
    beforeFill: async () => conversations?.setBack(),
  });
  let audit: AuditRecorder | null = null;

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
      projection,
      timeZone: options.timeZone,
      onOtherRedis: access.fill,
      stopping,
    });
  };

  /** A clock that is ahead must not delete what is new: this process's, or that of Redis. */
  const earlierClock = async (): Promise<number> => {
    const [seconds] = await redis.time();
    return Math.min(now(), Number(seconds) * 1000);
  };

  const work = async (): Promise<void> => {
    if (!isPrepared) {
      await opened.prepare();
      isPrepared = true;
    }
    await access.claim();
    const { isHeld, isNew } = await lease.hold();
    if (!isHeld || isNew) [streams, audit, recordedUntilMs] = [null, null, null];
    conversations?.hold(isHeld);
    if (!(await access.open(isHeld)) || !isHeld) return;
    await access.keepUp();
    audit ??= createAuditRecorder({ redis, database, lease, now });
    await audit.record();
    streams ??= await begin();
    const begunAtMs = now();
    await streams.record();
    recordedUntilMs = begunAtMs;
    if (rounds === 0)
      await createLateIndexes({ database, lease }).catch((error: unknown) => {
        if (error instanceof LostLease) throw error;
        report({ what: 'without index', detail: String(error) });
      });
    if (rounds % ROUNDS_OF_WINDOW === 0)
      await moveWindow({ database, lease, nowMs: await earlierClock(), keepSumsDays });
    if (rounds % ROUNDS_OF_RETENTION === 0)
      await deleteOld({ database, lease, nowMs: await earlierClock(), keepRecordsDays, keepSumsDays });
    rounds += 1;
  };

  const attempt = async (): Promise<void> => {
    try {
      await work();
      if (found !== null) report({ what: 'recording again', detail: '' });
      found = null;
    } catch (error) {
      [streams, audit] = [null, null];
      // While Redis is away there is nothing to record; who watches Redis reports it.
      const isOther = error instanceof OtherDatabase;
      if (isOther) conversations?.hold(false);
      const isOfDatabase = isOther || error instanceof QueryError || !isPrepared;
      if (error instanceof LostLease || stopping.aborted || !isOfDatabase) return;
      const reason = error instanceof Error ? error.message : String(error);
      if (found === null) report({ what: 'waiting', detail: reason });
      found = {
        kind: isOther ? 'other database' : 'database away',
        sinceMs: found?.sinceMs ?? now(),
        reason,
      };
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
    recordedUntilMs: () => recordedUntilMs,
    accessOpened: access.opened,
    accessFilled: access.filled,
    movedCounts: conversations?.counts ?? NOTHING_MOVED,
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      clearTimeout(timer);
      await running;
      await conversations?.[Symbol.asyncDispose]();
      if (!isPrepared) return;
      await lease.release().catch(() => undefined);
      await access.release().catch(() => undefined);
    },
  };
}
