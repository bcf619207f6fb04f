import { type UsageRecord, UsageResult, UsageSubject } from '@gateway/contracts/usage/usage-record';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { createOperationBatch, type OperationBatch } from '../batch/operation-batch.ts';
import { type ReportBroken, readStored } from '../broken-records.ts';
import type { Admitted, PendingAdmission } from '../limits/admission.ts';
import { type LimitClock, redisClock } from '../load-script.ts';
import { dayOf, redisNames } from '../redis-names.ts';
import { type Amounts, type Charge, chargeKey } from './charge.ts';

export interface LedgerOptions {
  readonly redis: Redis;
  readonly now: () => number;
  readonly keepRecordsDays: number;
  readonly clock?: LimitClock;
  /** Over the same connection. */
  readonly batch?: OperationBatch;
  readonly onBroken?: ReportBroken;
  /** Called with each record that Redis has confirmed, as JSON. */
  readonly onRecorded?: (record: string) => void;
  /** Called with each record of a request whose process ended before it. */
  readonly onAbandoned?: ((record: UsageRecord) => void) | undefined;
}

/** What a request reserves before the upstream is called. */
export interface Reservation {
  readonly subject: UsageSubject;
  /** What limits reserve; also the charge if the request's process ends before settling. */
  readonly estimate: UsageResult;
  /** What budgets reserve, where that is more than the estimate; see `Demand`. */
  readonly mostMicroUsd?: number | undefined;
  readonly charges: readonly Charge[];
  /** How long the reservation lasts without being renewed. */
  readonly leaseMs: number;
}

export type Reserved =
  | {
      readonly ok: true /** What is left of each charge, in its order. */;
      readonly remaining: readonly number[];
    }
  | {
      readonly ok: false;
      readonly charge: Charge;
      /** Null: waiting does not help. */
      readonly waitMs: number | null;
      readonly remaining: number;
    };

/** What a request was let in with, and what was reserved for it; null for one that was not let in. */
export interface AdmittedAndReserved {
  readonly admitted: Admitted;
  readonly reserved: Reserved | null;
}

export interface Ledger {
  /** Reserves the estimate against every charge, all or nothing. Repeating an id that is reserved changes nothing. */
  reserve(reservation: Reservation): Promise<Reserved>;
  /** Admits a request and reserves for it, in one round trip. A refused reservation does not undo the admission. */
  enter(admission: PendingAdmission, reservation: Reservation): Promise<AdmittedAndReserved>;
  /**
   * Settles a request with what was really consumed, once, with or without a reservation in Redis. False when there is a
   * record of this id.
   */
  settle(subject: UsageSubject, result: UsageResult): Promise<boolean>;
  /** See `OperationBatch`. */
  sent(): Promise<void>;
  /** Gives back all of a reservation, if there is one: its request was not let in, and leaves no record. */
  release(id: string): Promise<void>;
  /** Renews reservations of requests that still run. @throws what Redis throws, also where there is none to renew */
  renew(ids: readonly string[], leaseMs: number): Promise<void>;
  /** Settles reservations whose lease ran out so long ago, as estimated. Returns how many. */
  settleAbandoned(graceMs?: number): Promise<number>;
}

/** The script's answer to a reservation: 0 or the number of the charge that refuses, and numbers that belong to it. */
const ReserveAnswer = z.array(z.number());
/** The answer to both; the second is there for an admitted request. */
const EnterAnswer = z.union([z.tuple([z.unknown()]), z.tuple([z.unknown(), ReserveAnswer])]);

/** What a reservation stores for the process that settles it if its own ends. */
const About = z.object({ subject: UsageSubject, estimate: UsageResult });
type About = z.infer<typeof About>;
const parseAbout = (text: string): About => About.parse(JSON.parse(text));

const SECONDS_PER_DAY = 86_400;
/** Abandoned reservations settled in one run; the next run takes the next ones. */
const ABANDONED_AT_ONCE = 100;

export const amountsOf = ({ consumption, costMicroUsd }: UsageResult): Amounts => ({
  requests: 1,
  tokens: consumption.inputTokens + consumption.outputTokens,
  images: consumption.images,
  audioMs: consumption.audioMs,
  microUsd: costMicroUsd ?? 0,
});

/** @throws {TypeError} for a record that the ledger cannot hold, before any of it is written */
function checkAmounts({ consumption, costMicroUsd }: UsageResult): void {
  const { toolCalls, ...counts } = consumption;
  const amounts = { ...counts, ...toolCalls, costMicroUsd: costMicroUsd ?? 0 };
  for (const [name, amount] of Object.entries(amounts))
    if (amount === undefined || !Number.isSafeInteger(amount) || amount < 0)
      throw new TypeError(`invalid amount: ${name}`);
}

/** Reserves, settles and records what requests consume. Exact on any number of replicas. */
export function createLedger(options: LedgerOptions): Ledger {
  const { redis, now, keepRecordsDays } = options;
  const { clock = redisClock, batch = createOperationBatch({ redis, clock }) } = options;
  const { onBroken = () => undefined, onRecorded = () => undefined, onAbandoned = () => undefined } = options;

  const [today, beginningDay] = [createDayNames(), createDayNames()];

  // Leases are compared with Redis' clock only, so that a process with a wrong clock settles nothing too early.
  const redisNow = async (): Promise<number> => {
    const givenUs = clock();
    if (givenUs !== null) return Math.floor(givenUs / 1000);
    const [seconds, microseconds] = await redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  };

  const runSettle = async (
    { id, startedAtMs }: Pick<UsageSubject, 'id' | 'startedAtMs'>,
    mode: 'ended' | 'abandoned' | 'released',
    args: readonly (string | number)[],
  ): Promise<boolean> => {
    const settled = await batch.runSoon({
      name: 'settle',
      keys: [
        redisNames.reservation(id),
        redisNames.openReservations,
        redisNames.settledIds(beginningDay(startedAtMs)),
        redisNames.records(today(now())),
      ],
      args: [id, mode, ...args],
    });
    return settled === 1;
  };

  const append = async (subject: UsageSubject, result: UsageResult, mode: 'ended' | 'abandoned') => {
    checkAmounts(result);
    const record: UsageRecord = { ...subject, ...result };
    const { tokens = 0, images = 0, audioMs = 0, microUsd = 0 } = amountsOf(result);
    const text = JSON.stringify(record);
    const isSettled = await runSettle(subject, mode, [
      ...[tokens, images, audioMs, microUsd],
      text,
      keepRecordsDays * SECONDS_PER_DAY,
    ]);
    if (isSettled) onRecorded(text);
    return isSettled;
  };

  const giveBack = async (id: string): Promise<void> => {
    await runSettle({ id, startedAtMs: now() }, 'released', []);
  };

  const settleAbandonedOne = async (id: string): Promise<boolean> => {
    const about = await redis.hget(redisNames.reservation(id), 'about');
    if (about === null) {
      await redis.zrem(redisNames.openReservations, id);
      return false;
    }
    const read = readStored(about, parseAbout, { kind: 'reservation', id }, onBroken);
    if (read === undefined) {
      await giveBack(id);
      return false;
    }
    const { subject, estimate } = read;
    const result: UsageResult = { ...estimate, outcome: 'abandoned', estimated: true };
    const isSettled = await append(subject, result, 'abandoned');
    if (isSettled) onAbandoned({ ...subject, ...result });
    return isSettled;
  };

  const reserveOperation = ({ subject, estimate, mostMicroUsd, charges, leaseMs }: Reservation) => {
    const amounts = amountsOf(estimate);
    if (mostMicroUsd !== undefined) amounts.microUsd = mostMicroUsd;
    return {
      name: 'reserve',
      keys: [
        redisNames.reservation(subject.id),
        redisNames.openReservations,
        ...charges.map((charge) => chargeKey(charge, now())),
      ],
      args: [
        subject.id,
        leaseMs,
        JSON.stringify({ subject, estimate }),
        ...charges.flatMap(({ kind, dimension, limit }) => [kind, dimension, limit, amounts[dimension] ?? 0]),
      ],
    } as const;
  };

  return {
    reserve: async (reservation) => {
      const { charges } = reservation;
      const operation = reserveOperation(reservation);
      // Without charges nothing can refuse it, so no request waits for it.
      const answer = await (charges.length === 0 ? batch.runSoon(operation) : batch.run(operation));
      return reservedBy(charges, ReserveAnswer.parse(answer));
    },
    enter: async ({ operation: admit, read }, reservation) => {
      const reserve = reserveOperation(reservation);
      const answer = await batch.run({
        name: 'enter',
        keys: [...admit.keys, ...reserve.keys],
        args: [admit.keys.length, admit.args.length, ...admit.args, ...reserve.args],
      });
      const [admitted, reserved] = EnterAnswer.parse(answer);
      return {
        admitted: read(admitted),
        reserved: reserved === undefined ? null : reservedBy(reservation.charges, reserved),
      };
    },
    settle: (subject, result) => append(subject, result, 'ended'),
    sent: batch.sent,
    release: giveBack,
    renew: async (ids, leaseMs) => {
      const until = (await redisNow()) + leaseMs;
      if (ids.length === 0) return;
      // Never shortens a lease: one that was extended meanwhile stays so.
      await redis.zadd(redisNames.openReservations, 'XX', 'GT', ...ids.flatMap((id) => [until, id]));
    },
    settleAbandoned: async (graceMs = 0) => {
      const ids = await redis.zrangebyscore(
        redisNames.openReservations,
        0,
        (await redisNow()) - graceMs,
        'LIMIT',
        0,
        ABANDONED_AT_ONCE,
      );
      const settled = await Promise.all(ids.map(settleAbandonedOne));
      return settled.filter(Boolean).length;
    },
  };
}

function reservedBy(charges: readonly Charge[], [failed = 0, ...rest]: readonly number[]): Reserved {
  const charge = failed > 0 ? charges[failed - 1] : undefined;
  if (charge === undefined) return { ok: true, remaining: rest };
  const [waitMs = -1, remaining = 0] = rest;
  return { ok: false, charge, waitMs: waitMs < 0 ? null : waitMs, remaining };
}

const DAY_MS = 86_400_000;

/** Names of days (UTC). Most calls are for the day of the call before. */
function createDayNames(): (atMs: number) => string {
  let day = Number.NaN;
  let name = '';
  return (atMs) => {
    const dayNow = Math.floor(atMs / DAY_MS);
    if (dayNow !== day) {
      day = dayNow;
      name = dayOf(dayNow * DAY_MS);
    }
    return name;
  };
}
