import { redisNames } from '../redis-names.ts';
import { type BudgetPeriod, periodOf } from './budget-period.ts';

/** What is counted against limits and budgets. Money is in micro-dollars, audio in milliseconds. */
export type Dimension = 'requests' | 'tokens' | 'images' | 'audioMs' | 'microUsd';
export type Amounts = Partial<Record<Dimension, number>>;

/** What a request counts against: a limit per minute, or a budget per calendar period. */
export type Charge =
  | {
      readonly kind: 'rate';
      readonly owner: string;
      readonly dimension: Dimension;
      /** Null: over all models. */
      readonly model: string | null;
      /** Units per minute. */
      readonly limit: number;
    }
  | {
      readonly kind: 'budget';
      readonly owner: string;
      readonly dimension: 'microUsd';
      readonly period: BudgetPeriod;
      /** IANA name of the time zone; periods change at its midnight. */
      readonly timeZone: string;
      readonly limit: number;
    };

/** The Redis key that a charge counts on at a moment. */
export const chargeKey = (charge: Charge, atMs: number): string =>
  charge.kind === 'rate'
    ? redisNames.rate(charge.owner, charge.dimension, charge.model)
    : redisNames.account(charge.owner, periodOf(charge.period, charge.timeZone, atMs));
