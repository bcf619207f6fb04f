import type { Account } from '@gateway/contracts/identity';
import { fitsPattern } from '@gateway/contracts/models/model-pattern';
import type { Charge } from '../ledger/charge.ts';
import { type RateLimit, rateLimitsOf } from '../limits/rate-limits.ts';

/**
 * The charges of a request for a model in a service, over all the accounts that it counts on. They do not include
 * requests over all models: the edge counts those, because it does not know the model.
 *
 * @param model the caller's name of it
 */
export const chargesOf = (accounts: readonly Account[], model: string, timeZone: string): readonly Charge[] =>
  accounts.flatMap(({ owner, limits, budget }) => [
    ...rateLimitsOf(limits)
      .filter((limit) => countsOn(limit, model))
      .map(
        ({ dimension, model: pattern, value, unitsPerOne }): Charge => ({
          kind: 'rate',
          owner,
          dimension,
          model: pattern,
          limit: value * unitsPerOne,
        }),
      ),
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

const countsOn = ({ dimension, model: pattern }: RateLimit, model: string): boolean =>
  pattern === null ? dimension !== 'requests' : fitsPattern(pattern, model);
