import type { Account } from '@gateway/contracts/identity';
import { readBalances } from '@gateway/metering/limits/balance';
import type { Redis } from 'ioredis';

const MICRO_PER_USD = 1e6;

/** What is left of an account's limits and budget, as the admin API shows it. */
export type ReadBalance = (account: Account) => Promise<unknown>;

interface BalanceOptions {
  readonly redis: Redis;
  readonly now: () => number;
  /** The time zone of budget periods. */
  readonly timeZone: string;
}

export const createBalanceReader =
  ({ redis, now, timeZone }: BalanceOptions): ReadBalance =>
  async (account) => {
    const [balance] = await readBalances(redis, [account], { timeZone, nowMs: now() });
    const { limits = [], budget = null } = balance ?? {};
    if (budget === null) return { limits, budget };
    const shown = {
      period: budget.period,
      usd: budget.microUsd / MICRO_PER_USD,
      spentUsd: budget.spentMicroUsd / MICRO_PER_USD,
      reservedUsd: budget.reservedMicroUsd / MICRO_PER_USD,
      remainingUsd: budget.remainingMicroUsd / MICRO_PER_USD,
      resetsAt: budget.resetsAtMs === null ? null : new Date(budget.resetsAtMs).toISOString(),
    };
    return { limits, budget: shown };
  };
