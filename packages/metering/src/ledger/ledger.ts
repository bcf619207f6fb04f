import { readFileSync } from 'node:fs';
import { type UsageRecord, UsageResult, UsageSubject } from '@gateway/contracts/usage-record';
import type { Redis, Result } from 'ioredis';
import { z } from 'zod';
import { redisNames } from '../redis-names.ts';
import { groupsOf, sumPrefix, sumsOf } from '../usage/sums.ts';
import { type Amounts, type Charge, chargeKey } from './charge.ts';
import { createScriptBatch } from './script-batch.ts';

export interface LedgerOptions {
  readonly redis: Redis;
  readonly now: () => number;
  readonly keepRecordsDays: number;
  readonly keepSumsDays: number;
}

/** What a request reserves before the upstream is called. */
export interface Reservation {
  readonly subject: UsageSubject;
  /** The most that the request can consume; also what is charged when nobody is left to settle it. */
  readonly estimate: UsageResult;
  readonly charges: readonly Charge[];
  /** How long the reservation stands without being renewed. */
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

export interface Ledger {
  /** Reserves the estimate against every charge, all or nothing. Repeating an id that is reserved changes nothing. */
  reserve(reservation: Reservation): Promise<Reserved>;
  /** Settles a reservation with what was really consumed, once. False when it was settled before. */
  settle(subject: UsageSubject, result: UsageResult): Promise<boolean>;
  /** The same, once, for a request that does not know whether it has reserved because Redis did not answer. */
  settleUnreserved(subject: UsageSubject, result: UsageResult): Promise<boolean>;
  /** Gives back all of a reservation, if there is one: its request was not let in, and leaves no record. */
  release(subject: UsageSubject, estimate: UsageResult): Promise<void>;
  /** Keeps reservations that are still being worked on. */
  renew(ids: readonly string[], leaseMs: number): Promise<void>;
  /** Settles reservations whose lease has run out, as estimated. Returns how many. */
  settleAbandoned(): Promise<number>;
}

declare module 'ioredis' {
  interface RedisCommander<Context> {
    gatewayReserve(keyCount: number, ...args: (string | number)[]): Result<number[], Context>;
    gatewaySettle(keyCount: number, ...args: (string | number)[]): Result<number, Context>;
  }
}

const script = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
const RESERVE = script('./reserve.lua');
const SETTLE = script('./settle.lua');

/** What a reservation remembers for whoever settles it in place of the process that is gone. */
const About = z.object({ subject: UsageSubject, estimate: UsageResult });

const SECONDS_PER_DAY = 86_400;
/** Abandoned reservations settled in one go; the next go takes the next ones. */
const ABANDONED_AT_ONCE = 100;

export const amountsOf = ({ consumption, costMicroUsd }: UsageResult): Amounts => ({
  requests: 1,
  tokens: consumption.inputTokens + consumption.outputTokens,
  images: consumption.images,
  audioMs: consumption.audioMs,
  microUsd: costMicroUsd ?? 0,
});

/** The one place where what requests consume is reserved, settled and recorded. Exact on any number of replicas. */
export function createLedger({ redis, now, keepRecordsDays, keepSumsDays }: LedgerOptions): Ledger {
  redis.defineCommand('gatewayReserve', { lua: RESERVE });
  redis.defineCommand('gatewaySettle', { lua: SETTLE });

  const batch = createScriptBatch(redis);

  // Leases are compared with one clock only, so that a process whose own is wrong settles nothing too early.
  const redisNow = async (): Promise<number> => {
    const [seconds, microseconds] = await redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  };

  const append = async (
    subject: UsageSubject,
    result: UsageResult,
    mode: 'reserved' | 'unreserved' | 'abandoned' | 'released',
  ) => {
    const record: UsageRecord = { ...subject, ...result };
    const moment = new Date(now()).toISOString();
    const settled = await batch.run('gatewaySettle', 5, [
      redisNames.reservation(subject.id),
      redisNames.openReservations,
      redisNames.settledMark(subject.id),
      redisNames.records(moment.slice(0, 'YYYY-MM-DD'.length)),
      redisNames.sums(moment.slice(0, 'YYYY-MM-DDTHH'.length)),
      subject.id,
      mode,
      JSON.stringify(mode === 'released' ? {} : amountsOf(result)),
      JSON.stringify(record),
      sumPrefix(groupsOf(record)),
      keepRecordsDays * SECONDS_PER_DAY,
      keepSumsDays * SECONDS_PER_DAY,
      ...sumsOf(record),
    ]);
    return settled === 1;
  };

  const settleAbandonedOne = async (id: string): Promise<boolean> => {
    const about = await redis.hget(redisNames.reservation(id), 'about');
    if (about === null) {
      await redis.zrem(redisNames.openReservations, id);
      return false;
    }
    const { subject, estimate } = About.parse(JSON.parse(about));
    return append(subject, { ...estimate, outcome: 'abandoned', estimated: true }, 'abandoned');
  };

  return {
    reserve: async ({ subject, estimate, charges, leaseMs }) => {
      const amounts = amountsOf(estimate);
      const keyCount = 2 + charges.length;
      const args = [
        redisNames.reservation(subject.id),
        redisNames.openReservations,
        ...charges.map((charge) => chargeKey(charge, now())),
        subject.id,
        leaseMs,
        JSON.stringify({ subject, estimate }),
        ...charges.flatMap(({ kind, dimension, limit }) => [kind, dimension, limit, amounts[dimension] ?? 0]),
      ];
      // Without charges nothing can refuse it, and nobody waits.
      if (charges.length === 0) {
        await batch.run('gatewayReserve', keyCount, args);
        return { ok: true, remaining: [] };
      }
      const [failed = 0, ...rest] = await redis.gatewayReserve(keyCount, ...args);
      const charge = failed > 0 ? charges[failed - 1] : undefined;
      if (charge === undefined) return { ok: true, remaining: rest };
      const [waitMs = -1, remaining = 0] = rest;
      return { ok: false, charge, waitMs: waitMs < 0 ? null : waitMs, remaining };
    },
    settle: (subject, result) => append(subject, result, 'reserved'),
    settleUnreserved: (subject, result) => append(subject, result, 'unreserved'),
    release: async (subject, estimate) => {
      await append(subject, estimate, 'released');
    },
    renew: async (ids, leaseMs) => {
      if (ids.length === 0) return;
      const until = (await redisNow()) + leaseMs;
      // Never shortened: a lease that was made longer meanwhile stays so.
      await redis.zadd(redisNames.openReservations, 'XX', 'GT', ...ids.flatMap((id) => [until, id]));
    },
    settleAbandoned: async () => {
      const ids = await redis.zrangebyscore(
        redisNames.openReservations,
        0,
        await redisNow(),
        'LIMIT',
        0,
        ABANDONED_AT_ONCE,
      );
      const settled = await Promise.all(ids.map(settleAbandonedOne));
      return settled.filter(Boolean).length;
    },
  };
}
