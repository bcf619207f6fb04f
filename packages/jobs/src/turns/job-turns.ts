import type { JobShare } from '@gateway/contracts/identity';
import type { JobKind } from '@gateway/contracts/jobs';
import { defineScript, readScript } from '@gateway/redis/define-script';
import type { IRedisTransaction } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { JOBS } from '../catalog.ts';
import { QUEUE_PREFIX } from '../redis/job-keys.ts';

/** The key that takes a turn, with its priority and weight among other keys. */
export interface TurnTaker {
  readonly keyId: string;
  readonly share?: JobShare | undefined;
}

/** Why there is no slot in a queue. */
export interface NoSlot {
  readonly waiting: number;
  /** Of these, the key's own. */
  readonly own: number;
  /** From one job's end to the next, as measured; undefined where few have ended lately. */
  readonly endIntervalMs: number | undefined;
}

export interface JobPosition {
  /** From 1. */
  readonly position: number;
  readonly endIntervalMs: number | undefined;
}

/** The order in which a queue's jobs are taken: keys take turns. All of it is in Redis; replicas share it. */
export interface JobTurns {
  /** Keeps a slot for a job that is still to be stored; undefined when it is kept. */
  reserveSlot(
    queue: string,
    slotId: string,
    taker: TurnTaker,
    maxWaiting: number,
  ): Promise<NoSlot | undefined>;
  /** Keeps slots for longer. */
  renewSlots(queue: string, slotIds: Iterable<string>): Promise<void>;
  freeSlot(queue: string, slotId: string): Promise<void>;
  /** Gives a job its turn in the transaction that stores it, and frees its slot. */
  takeTurn(
    transaction: IRedisTransaction,
    queue: string,
    turn: TurnTaker & { jobId: string; slotId: string },
  ): void;
  /** A job that waits for somebody outside lets the key's next one in. False: as many are aside as may be. */
  stepAside(queue: string, jobId: string, keyId: string, most: number): Promise<boolean>;
  /** It is at work again, beside those that were let in meanwhile. */
  stepBack(queue: string, jobId: string, keyId: string): Promise<void>;
  /** After the end of a job whose key has a limit: lets the key's next ones in. */
  releaseParked(keyId: string): Promise<void>;
  /** The same for every key, for ends that nobody has reported. */
  releaseAllParked(): Promise<void>;
  /** Undefined for a job that does not wait. */
  positionOf(queue: string, jobId: string, keyId: string): Promise<JobPosition | undefined>;
}

const PLACE_LEASE_MS = 60_000;
/** How often slots are to be renewed. */
export const SLOT_RENEWAL_MS = 20_000;

const DEFAULT_WEIGHT = 1;
/** BullMQ's own; the scores are the turns. */
export const BULLMQ_PRIORITY = 1;
const DEFAULT_PRIORITY = 5;

const SHARED = new URL('./turns.lua', import.meta.url);
const script = (name: string): string => readScript(SHARED, new URL(name, import.meta.url));
const RESERVE_SLOT = script('./reserve-slot.lua');
const TAKE_TURN = script('./take-turn.lua');
const RELEASE_PARKED = script('./release-parked.lua');
const STEP_ASIDE = script('./step-aside.lua');
const FIND_POSITION = script('./find-position.lua');

const SlotAnswer = z.union([z.tuple([z.literal(1)]), z.tuple([z.literal(0), z.int(), z.int(), z.int()])]);
const PositionAnswer = z.tuple([z.int(), z.int()]).nullable();

/** Who takes the turn of a key's job of this kind, and how many of these may be at work. */
export function takerOf(kind: JobKind, { keyId, share }: TurnTaker): TurnTaker {
  const { ofOneKey, queue } = JOBS[kind];
  if (ofOneKey === undefined) return { keyId, share };
  return { keyId: `${keyId}:${queue}`, share: { ...share, concurrentJobs: ofOneKey } };
}

const turnKey = (...names: string[]): string => [QUEUE_PREFIX, 'turns', ...names].join(':');
const slotsKey = (queue: string): string => turnKey(queue, 'slots');
const PARKED_KEYS = turnKey('parked-keys');
const intervalOf = (intervalMs: number): number | undefined => (intervalMs < 0 ? undefined : intervalMs);

const shareOf = ({ share }: TurnTaker) =>
  [share?.jobPriority ?? DEFAULT_PRIORITY, share?.jobWeight ?? DEFAULT_WEIGHT] as const;

/** @param redis a connection of this process; the scripts are defined on it */
export function createJobTurns(redis: Redis, now: () => number): JobTurns {
  const reserveSlot = defineScript(redis, 'gatewayReserveSlot', RESERVE_SLOT, SlotAnswer);
  defineScript(redis, 'gatewayTakeTurn', TAKE_TURN, z.unknown());
  const release = defineScript(redis, 'gatewayReleaseParked', RELEASE_PARKED, z.unknown());
  const stepAside = defineScript(redis, 'gatewayStepAside', STEP_ASIDE, z.int());
  const findPosition = defineScript(redis, 'gatewayFindPosition', FIND_POSITION, PositionAnswer);
  const releaseParked = async (keyId: string): Promise<void> =>
    void (await release([PARKED_KEYS], QUEUE_PREFIX, keyId));
  const asideKey = (keyId: string): string => turnKey('aside', keyId);
  return {
    stepAside: async (queue, jobId, keyId, most) => {
      const isAside = await stepAside([asideKey(keyId)], QUEUE_PREFIX, queue, jobId, keyId, most);
      if (isAside === 1) await releaseParked(keyId);
      return isAside === 1;
    },
    stepBack: async (queue, jobId, keyId) =>
      void (await stepAside([asideKey(keyId)], QUEUE_PREFIX, queue, jobId, keyId, 0)),
    reserveSlot: async (queue, slotId, taker, maxWaiting) => {
      const ids = [QUEUE_PREFIX, queue, slotId, taker.keyId];
      const rest = [maxWaiting, now(), PLACE_LEASE_MS];
      const answer = await reserveSlot([slotsKey(queue)], ...ids, ...shareOf(taker), ...rest);
      const [isKept, waiting = 0, own = 0, intervalMs = -1] = answer;
      return isKept === 1 ? undefined : { waiting, own, endIntervalMs: intervalOf(intervalMs) };
    },
    renewSlots: async (queue, slotIds) => {
      const until = now() + PLACE_LEASE_MS;
      const slots = [...slotIds].flatMap((slotId) => [until, slotId]);
      if (slots.length > 0) await redis.zadd(slotsKey(queue), 'XX', ...slots);
    },
    freeSlot: async (queue, slotId) => void (await redis.zrem(slotsKey(queue), slotId)),
    takeTurn: (transaction, queue, { jobId, slotId, ...taker }) => {
      const limit = taker.share?.concurrentJobs ?? 0;
      const ids = [1, slotsKey(queue), QUEUE_PREFIX, queue, jobId, taker.keyId];
      transaction.runCommand('gatewayTakeTurn', [...ids, ...shareOf(taker), limit, slotId, now()]);
    },
    releaseParked,
    releaseAllParked: async () => {
      for (const keyId of await redis.hkeys(PARKED_KEYS)) await releaseParked(keyId);
    },
    positionOf: async (queue, jobId, keyId) => {
      const prioritized = `${QUEUE_PREFIX}:${queue}:prioritized`;
      const found = await findPosition([prioritized], QUEUE_PREFIX, queue, jobId, keyId, now());
      return found === null ? undefined : { position: found[0], endIntervalMs: intervalOf(found[1]) };
    },
  };
}
