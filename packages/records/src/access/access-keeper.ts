import type { Projection } from '@gateway/metering/keys/records/projection';
import type { Redis } from 'ioredis';
import type { Database } from '../database/database.ts';
import type { Lease } from '../recorder/lease.ts';
import type { RecorderEvent } from '../recorder/recorder.ts';
import { projectChanges } from './access-store.ts';
import { fillRedis } from './fill-redis.ts';
import { moveAccess, wereMoved } from './move-access.ts';

interface AccessKeeperOptions {
  readonly redis: Redis;
  readonly database: Database;
  readonly projection: Projection;
  readonly lease: Pick<Lease, 'write'>;
  readonly now: () => number;
  readonly prepareAccess?: (() => Promise<void>) | undefined;
  readonly report: (event: RecorderEvent) => void;
  readonly stopping: AbortSignal;
}

/** Keeps keys and teams in the database, and what Redis has of them. */
export interface AccessKeeper {
  /** Resolves when the database has all keys and teams. */
  readonly opened: Promise<void>;
  /** Resolves when Redis has all that it needs of them. */
  readonly filled: Promise<void>;
  /** Whether it has them now. Who may write reads them over first, from a Redis of before there was a database. */
  open(mayWrite: boolean): Promise<boolean>;
  /** Brings to Redis what it lacks: changes that did not reach it, or all of it. */
  keepUp(): Promise<void>;
  fill(): Promise<void>;
}

export function createAccessKeeper(options: AccessKeeperOptions): AccessKeeper {
  const { redis, database, projection, lease, now, prepareAccess, report, stopping } = options;
  const opening = Promise.withResolvers<void>();
  const filling = Promise.withResolvers<void>();
  let [isOpen, isPrepared] = [false, prepareAccess === undefined];

  const hasAll = (mayWrite: boolean): Promise<boolean> =>
    mayWrite
      ? moveAccess({
          redis,
          read: database.read,
          lease,
          now,
          stopping,
          report: (detail) => report({ what: 'moved', detail }),
        })
      : database.read(wereMoved);

  const fill = async (): Promise<void> => {
    const keys = await fillRedis({ database, projection, stopping });
    report({ what: 'filled Redis', detail: `${keys} keys` });
  };

  return {
    opened: opening.promise,
    filled: filling.promise,
    open: async (mayWrite) => {
      isOpen ||= await hasAll(mayWrite);
      if (!isOpen) return false;
      opening.resolve();
      if (!isPrepared) await prepareAccess?.();
      isPrepared = true;
      return true;
    },
    keepUp: async () => {
      await projectChanges(database, projection);
      if ((await projection.epoch()) === null) await fill();
      if (!stopping.aborted) filling.resolve();
    },
    fill,
  };
}
