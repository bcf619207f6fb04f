import type { Account } from '@gateway/contracts/identity';
import { type AccountBalance, readBalances } from '@gateway/metering/limits/balance';
import type { Redis } from 'ioredis';
import type { z } from 'zod';
import type { BalanceReply } from '../api/schemas/access.ts';

const MICRO_PER_USD = 1e6;

/** What is left of accounts' limits and budgets, as the admin API shows it, in the accounts' order. */
export type ReadShownBalances = (accounts: readonly Account[]) => Promise<readonly ShownBalance[]>;
type ShownBalance = z.infer<typeof BalanceReply>;

interface BalanceOptions {
  readonly redis: Redis;
  readonly now: () => number;
  /** The time zone of budget periods. */
  readonly timeZone: string;
}

export const createBalanceReader =
  ({ redis, now, timeZone }: BalanceOptions): ReadShownBalances =>
  async (accounts) =>
    (await readBalances(redis, accounts, { timeZone, nowMs: now() })).map(shown);

function shown({ limits, budget }: AccountBalance): ShownBalance {
  return {
    limits: [...limits],
    budget:
      budget === null
        ? null
        : {
            period: budget.period,
            usd: budget.microUsd / MICRO_PER_USD,
            spentUsd: budget.spentMicroUsd / MICRO_PER_USD,
            reservedUsd: budget.reservedMicroUsd / MICRO_PER_USD,
            remainingUsd: budget.remainingMicroUsd / MICRO_PER_USD,
            resetsAt: budget.resetsAtMs === null ? null : new Date(budget.resetsAtMs).toISOString(),
          },
  };
}
