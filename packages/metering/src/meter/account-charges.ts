import type { Account } from '@gateway/contracts/identity';
import type { Charge, Dimension } from '../ledger/charge.ts';

/** The limits that count what a request consumes; the others are the edge's. */
const CONSUMPTION_LIMITS = [
  { limit: 'tokensPerMinute', dimension: 'tokens', unitsPerOne: 1 },
  { limit: 'imagesPerMinute', dimension: 'images', unitsPerOne: 1 },
  { limit: 'audioSecondsPerMinute', dimension: 'audioMs', unitsPerOne: 1000 },
] as const satisfies readonly { limit: string; dimension: Dimension; unitsPerOne: number }[];

/** What a request counts against, over all the accounts that it is on. */
export const chargesOf = (accounts: readonly Account[], timeZone: string): readonly Charge[] =>
  accounts.flatMap(({ owner, limits, budget }) => [
    ...CONSUMPTION_LIMITS.flatMap(({ limit: name, dimension, unitsPerOne }): Charge[] => {
      const limit = limits[name];
      return limit === undefined
        ? []
        : [{ kind: 'rate', owner, dimension, model: null, limit: limit * unitsPerOne }];
    }),
    ...(budget === null
      ? []
      : [
          {
            kind: 'budget',
            owner,
            dimension: 'microUsd',
            period: budget.period,
            timeZone,
            limit: budget.microUsd,
          } satisfies Charge,
        ]),
  ]);
