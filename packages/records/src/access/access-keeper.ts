import type { Projection, RecordSource } from '@gateway/metering/keys/records/projection';
import type { Redis } from 'ioredis';
import type { Database } from '../database/database.ts';
import { createDatabaseId } from '../database/facts.ts';
import type { Lease } from '../recorder/lease.ts';
import type { RecorderEvent } from '../recorder/recorder.ts';
import { raiseVersions, readVersion } from './access-rows.ts';
import { otherDatabase, projectChanges } from './access-store.ts';
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
  /** Called before Redis gets all of its keys. */
  readonly beforeFill?: () => Promise<void>;
  readonly stopping: AbortSignal;
}

/** A gateway with another database uses this Redis: nothing is brought there, and nothing is taken from it. */
export class OtherDatabase extends Error {}

/** Keeps keys and teams in the database, and what Redis has of them. */
export interface AccessKeeper {
  /** Resolves when the database has all keys and teams. */
  readonly opened: Promise<void>;
  /** Resolves when Redis has all that it needs of them. */
  readonly filled: Promise<void>;
  /** Before anything else of a round. @throws {OtherDatabase} */
  claim(): Promise<void>;
  release(): Promise<void>;
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
  const databaseId = createDatabaseId(database);
  let [isOpen, isPrepared] = [false, prepareAccess === undefined];

  const hasAll = (mayWrite: boolean): Promise<boolean> =>
    mayWrite
      ? moveAccess({
          redis,
          projection,
          read: database.read,
          lease,
          now,
          stopping,
          report: (detail) => report({ what: 'moved', detail }),
        })
      : database.read(wereMoved);

  const fill = async (): Promise<void> => {
    await options.beforeFill?.();
    const keys = await fillRedis({ database, databaseId: await databaseId(), projection, stopping });
    report({ what: 'filled Redis', detail: `${keys} keys` });
  };

  /** Whether Redis has what comes from this database, and nothing later than that. */
  const isOurs = async (source: RecordSource | null): Promise<boolean> => {
    if (source?.database !== (await databaseId())) return false;
    return source.newest <= (await database.read(readVersion));
  };

  return {
    claim: async () => {
      const takenMs = await projection.claim(await databaseId());
      if (takenMs > 0) throw new OtherDatabase(otherDatabase(takenMs));
    },
    release: async () => projection.release(await databaseId()),
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
      const source = await projection.source();
      await projectChanges(database, projection);
      if (!(await isOurs(source))) {
        // What came from another database, or from this one before it was set back, gives way.
        if (source !== null) await lease.write((queries) => raiseVersions(queries, source.newest));
        await fill();
      }
      if (!stopping.aborted) filling.resolve();
    },
    fill,
  };
}
