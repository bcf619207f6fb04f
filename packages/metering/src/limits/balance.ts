import type { Account, Budget, Limits } from '@gateway/contracts/identity';
import type { ChainableCommander, Redis } from 'ioredis';
import { awaitRedis } from '../keys/await-redis.ts';
import { periodEndMs, periodOf } from '../ledger/budget-period.ts';
import { type LimitClock, redisClock } from '../load-script.ts';
import { redisNames } from '../redis-names.ts';
import { rateLimitsOf } from './rate-limits.ts';

/** What is left of one limit, in its own unit. */
export interface LimitBalance {
  readonly limit: Exclude<keyof Limits, 'models'>;
  /** The pattern of the models that it applies to; null: all. */
  readonly model: string | null;
  readonly value: number;
  readonly remaining: number;
}

export interface BudgetBalance {
  readonly period: Budget['period'];
  readonly microUsd: number;
  readonly spentMicroUsd: number;
  /** For requests that are under way. */
  readonly reservedMicroUsd: number;
  readonly remainingMicroUsd: number;
  /** When the period ends, in Unix milliseconds; null for `total`. */
  readonly resetsAtMs: number | null;
}

export interface AccountBalance {
  readonly owner: string;
  readonly limits: readonly LimitBalance[];
  readonly budget: BudgetBalance | null;
}

const WINDOW_US = 60_000_000;

/** A command of the round trip, and the reader of its reply. */
interface Query<T> {
  readonly command: (commands: ChainableCommander) => ChainableCommander;
  readonly read: (reply: unknown, nowUs: number) => T;
}

/**
 * What is left of accounts' limits and budgets, read in one round trip; it counts nothing and is a snapshot.
 *
 * @throws {GatewayError} `service_unavailable` when Redis does not answer
 */
export async function readBalances(
  redis: Redis,
  accounts: readonly Account[],
  { timeZone, nowMs, clock = redisClock }: { timeZone: string; nowMs: number; clock?: LimitClock },
): Promise<readonly AccountBalance[]> {
  const limits = accounts.flatMap(({ owner, limits: all }) => limitQueries(owner, all));
  const budgets = accounts.flatMap(({ owner, budget }) =>
    budget === null ? [] : [budgetQuery(owner, budget, timeZone, nowMs)],
  );
  let commands = redis.pipeline().time();
  for (const { command } of [...limits, ...budgets]) commands = command(commands);
  const replies = (await awaitRedis(commands.exec())) ?? [];
  const values = await Promise.all(
    replies.map(([error, value]) =>
      awaitRedis(error === null ? Promise.resolve(value) : Promise.reject(error)),
    ),
  );
  const redisUs = microseconds(values.shift());
  const nowUs = clock() ?? redisUs;
  const readAll = <T>(questions: readonly Query<T>[]) =>
    questions.map(({ read }) => read(values.shift(), nowUs));
  const limitBalances = readAll(limits);
  const budgetBalances = readAll(budgets);
  return accounts.map(({ owner }) => ({
    owner,
    limits: limitBalances.flatMap(({ owner: of, ...balance }) => (of === owner ? [balance] : [])),
    budget: budgetBalances.find(({ owner: of }) => of === owner)?.balance ?? null,
  }));
}

function limitQueries(owner: string, limits: Limits): Query<LimitBalance & { owner: string }>[] {
  const questions = rateLimitsOf(limits).map(
    ({ name, value, unitsPerOne, dimension, model }): Query<LimitBalance & { owner: string }> => ({
      command: (commands) => commands.get(redisNames.rate(owner, dimension, model)),
      read: (reply, nowUs) => {
        const left = unitsLeft(Number(reply ?? 0), nowUs, value * unitsPerOne);
        return { owner, limit: name, model, value, remaining: Math.floor(left / unitsPerOne) };
      },
    }),
  );
  const { concurrentRequests } = limits;
  if (concurrentRequests !== undefined)
    questions.push({
      command: (commands) => commands.zrange(redisNames.slots(owner), '0', '-1', 'WITHSCORES'),
      read: (reply, nowUs) => {
        const running = scores(reply).filter((untilMs) => untilMs * 1000 > nowUs).length;
        const remaining = Math.max(0, concurrentRequests - running);
        return { owner, limit: 'concurrentRequests', model: null, value: concurrentRequests, remaining };
      },
    });
  return questions;
}

/** The bucket of reserve.lua, from the time at which it will be full again. */
function unitsLeft(fullAtUs: number, nowUs: number, limit: number): number {
  const missingUs = Math.min(Math.max(fullAtUs - nowUs, 0), WINDOW_US);
  return Math.floor(((WINDOW_US - missingUs) * limit) / WINDOW_US + 0.0001);
}

function budgetQuery(
  owner: string,
  { microUsd, period }: Budget,
  timeZone: string,
  nowMs: number,
): Query<{ owner: string; balance: BudgetBalance }> {
  return {
    command: (commands) =>
      commands.hmget(redisNames.account(owner, periodOf(period, timeZone, nowMs)), 'spent', 'reserved'),
    read: (reply) => {
      const [spent, reserved] = Array.isArray(reply) ? reply : [];
      const spentMicroUsd = Number(spent ?? 0);
      const reservedMicroUsd = Number(reserved ?? 0);
      const remainingMicroUsd = Math.max(0, microUsd - spentMicroUsd - reservedMicroUsd);
      const resetsAtMs = periodEndMs(period, timeZone, nowMs);
      const balance = { period, microUsd, spentMicroUsd, reservedMicroUsd, remainingMicroUsd, resetsAtMs };
      return { owner, balance };
    },
  };
}

/** Redis' TIME: seconds and microseconds. */
function microseconds(reply: unknown): number {
  const [seconds, rest] = Array.isArray(reply) ? reply : [];
  return Number(seconds) * 1_000_000 + Number(rest);
}

/** Every second element of members and scores. */
const scores = (reply: unknown): number[] =>
  Array.isArray(reply) ? reply.filter((_, at) => at % 2 === 1).map(Number) : [];
