import { answerAsk, giveBackAsk, takeAsk } from '@gateway/conversations/asks';
import {
  ALL_RECORDS,
  MOVED,
  MOVED_IS_WHOLE,
  MOVER,
  ownerOf,
  USERS,
} from '@gateway/conversations/store-scripts';
import type { Redis } from 'ioredis';
import { LostLease } from '../recorder/lease.ts';
import {
  type ConversationMoverOptions,
  createConversationMover,
  type MovedCounts,
} from './conversation-mover.ts';
import { noteOwners } from './moved-members.ts';
import { NotTheMover } from './note-moves.ts';

export interface ConversationKeeperOptions extends ConversationMoverOptions {
  /** A connection of its own: it blocks. */
  readonly asks: Redis;
  readonly everyMs: number;
}

/** Brings stored conversations that were not used for long to the database, and back when they are named, while the lease is held. */
export interface ConversationKeeper extends AsyncDisposable {
  /** Whether this recorder has the lease. */
  hold(isHeld: boolean): void;
  /** Redis, or the database, may have been set back, or emptied: they are compared again. First Redis gets who has something in the database. */
  setBack(): Promise<void>;
  readonly counts: MovedCounts;
}

/** Moves of one round, in milliseconds; what is left waits for the next. */
const ROUND_MS = 1000;
const ROUNDS_OF_EXPIRY = 30;

export function createConversationKeeper(options: ConversationKeeperOptions): ConversationKeeper {
  const { redis, database, asks, holder, everyMs } = options;
  const mover = createConversationMover(options);
  const closing = new AbortController();
  let isHeld = false;
  let rounds = 0;
  /** What an earlier recorder has left is finished; null: not yet. */
  let begun: Promise<void> | null = null;

  const begin = (): Promise<void> => {
    begun ??= (async () => {
      await noteUsers(redis);
      await mover.begin();
    })();
    return begun;
  };
  const failed = (): void => {
    begun = null;
  };

  const round = async (): Promise<void> => {
    // An emptied Redis does not know it.
    if ((await redis.get(MOVER)) !== holder) failed();
    await begin();
    if (rounds % ROUNDS_OF_EXPIRY === 0) while ((await mover.expireSome()) > 0 && isHeld);
    rounds += 1;
    const startMs = performance.now();
    while (isHeld && performance.now() - startMs < ROUND_MS && (await mover.moveSome()) > 0);
  };
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const next = (): void => {
    if (closing.signal.aborted) return;
    timer = setTimeout(() => {
      // Who watches the database and Redis reports what is away.
      running = (isHeld ? round() : Promise.resolve()).catch(failed);
      void running.then(next);
    }, everyMs).unref();
  };
  next();

  const answerNext = async (): Promise<void> => {
    const ask = await takeAsk(asks);
    if (ask === null) return;
    const bringBack = async (): Promise<void> => {
      await begin();
      await mover.bringBack(ask.owner, ask.names);
    };
    try {
      await bringBack().catch((error: unknown) => {
        if (!(error instanceof NotTheMover)) throw error;
        // Redis was emptied since.
        failed();
        return bringBack();
      });
    } catch (error) {
      failed();
      if (error instanceof LostLease || closing.signal.aborted) await giveBackAsk(redis, ask);
      else await answerAsk(redis, ask, 'away');
      return;
    }
    await answerAsk(redis, ask, 'done');
  };
  const answer = async (): Promise<void> => {
    while (isHeld && !closing.signal.aborted) {
      const isAway = await answerNext().then(
        () => false,
        () => true,
      );
      if (isAway) return;
    }
  };
  let answering: Promise<void> | null = null;

  return {
    counts: mover.counts,
    hold: (held) => {
      if (isHeld && !held) failed();
      isHeld = held;
      if (isHeld && !closing.signal.aborted)
        answering ??= answer().finally(() => {
          answering = null;
        });
    },
    setBack: async () => {
      failed();
      await redis.srem(MOVED, MOVED_IS_WHOLE);
      await noteOwners(redis, database);
    },
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      clearTimeout(timer);
      asks.disconnect();
      await Promise.all([running, answering]);
    },
  };
}

const USERS_NOTED = 'gateway:store:users-noted';

/** Notes whose conversations there are from before uses were noted: once for a Redis. */
async function noteUsers(redis: Redis): Promise<void> {
  if ((await redis.exists(USERS_NOTED)) === 1) return;
  for await (const names of redis.scanStream({ match: ALL_RECORDS, count: 1000 }))
    for (const name of names) await redis.zadd(USERS, 'NX', 0, ownerOf(String(name)));
  await redis.set(USERS_NOTED, 1);
}
