import { randomUUID } from 'node:crypto';
import { type Actor, type AuditEntry, addAuditEntry } from '@gateway/metering/audit/audit-log';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import { restField, type SharedRest } from '@gateway/upstream/health/rests/rest';
import {
  changeRests,
  commit,
  createRestStore,
  type RestChanges,
} from '@gateway/upstream/health/rests/rest-store';
import { SCOPES, scopeOf, type Target } from '@gateway/upstream/health/targets/target';
import type { Redis } from 'ioredis';
import type { z } from 'zod';
import type { RestReply } from '../api/schemas/operations.ts';

type ShownRest = z.infer<typeof RestReply>;

/** A person's order to let something rest. */
interface RestOrder extends Target {
  /** Null: until it is woken. */
  readonly seconds: number | null;
  readonly reason: string | null;
}

/** What rests, as all replicas share it. Changes are known to them within a second. */
export interface ChannelRests {
  /** By the channels' names. */
  list(): Promise<ReadonlyMap<string, readonly ShownRest[]>>;
  rest(order: RestOrder, by: Actor): Promise<void>;
  /** Ends all rests of the target, and of what it contains. */
  wake(target: Target, by: Actor): Promise<void>;
}

const NO_REASON = 'no reason given';

const instantOf = (atMs: number): string => new Date(atMs).toISOString();

const shown = (rest: SharedRest, nowMs: number): ShownRest => {
  const { account, model, cause, reason, by, sinceMs, untilMs, failures, level } = rest;
  const leftMs = untilMs === null ? null : Math.max(0, untilMs - nowMs);
  return {
    scope: scopeOf(rest),
    account,
    model,
    state: leftMs === 0 ? 'unproven' : 'resting',
    cause,
    reason,
    by,
    since: instantOf(sinceMs),
    until: untilMs === null ? null : instantOf(untilMs),
    secondsLeft: leftMs === null ? null : leftMs / 1000,
    failures,
    restsBefore: level,
  };
};

/** A person's rest that is over has ended; the gateway's own waits for a request that proves it. */
const isOver = ({ by, untilMs }: SharedRest, nowMs: number): boolean =>
  by !== null && untilMs !== null && untilMs <= nowMs;

/** The widest first, then the oldest: Redis has no order of its own. */
const byScope = (a: SharedRest, b: SharedRest): number =>
  SCOPES.indexOf(scopeOf(a)) - SCOPES.indexOf(scopeOf(b)) || a.sinceMs - b.sinceMs || (a.id < b.id ? -1 : 1);

const contains = (target: Target, rest: Target): boolean =>
  target.channel === rest.channel &&
  (target.account === null || target.account === rest.account) &&
  (target.model === null || target.model === rest.model);

export const createChannelRests = ({ redis, now }: { redis: Redis; now: () => number }): ChannelRests => {
  const store = createRestStore(redis);

  const read = async () => {
    const nowMs = await store.time();
    const rests = await store.read(nowMs);
    return { nowMs, rests: rests.filter((rest) => !isOver(rest, nowMs)).sort(byScope) };
  };

  const change = (changes: RestChanges, entry: Omit<AuditEntry, 'at'>): Promise<void> => {
    const transaction = redis.multi();
    changeRests(transaction, changes);
    addAuditEntry(transaction, { at: instantOf(now()), ...entry });
    return awaitRedis(commit(transaction));
  };

  return {
    async list() {
      const { nowMs, rests } = await awaitRedis(read());
      // Redis gives them in any order.
      const sorted = rests.toSorted((a, b) => (restField(a) < restField(b) ? -1 : 1));
      const byChannel = Map.groupBy(sorted, ({ channel }) => channel);
      return new Map([...byChannel].map(([name, found]) => [name, found.map((rest) => shown(rest, nowMs))]));
    },

    async rest({ seconds, reason, ...target }, by) {
      const nowMs = await awaitRedis(store.time());
      const rest: SharedRest = {
        id: randomUUID(),
        ...target,
        cause: null,
        reason: reason ?? NO_REASON,
        by: by.who,
        sinceMs: nowMs,
        untilMs: seconds === null ? null : nowMs + seconds * 1000,
        requested: true,
        level: 0,
        failures: 0,
        settings: null,
      };
      const { account, model } = target;
      const until = rest.untilMs === null ? null : instantOf(rest.untilMs);
      const after = { account, model, reason: rest.reason, until };
      const entry = {
        ...by,
        action: 'channel.rested',
        subject: target.channel,
        before: null,
        after,
      } as const;
      await change({ put: [rest], remove: [] }, entry);
    },

    async wake(target, by) {
      const { nowMs, rests } = await awaitRedis(read());
      const woken = rests.filter((rest) => contains(target, rest));
      if (woken.length === 0) return;
      const before = { rests: woken.map((rest) => shown(rest, nowMs)) };
      const entry = { ...by, action: 'channel.woken', subject: target.channel, before, after: null } as const;
      await change({ put: [], remove: woken.map(restField) }, entry);
    },
  };
};
