import type { Candidate } from '@gateway/upstream/candidate';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import type { IdOrigin } from './id-origins.ts';
import { isMadeAt } from './maker.ts';

/** The account that made a response, as the only candidate; null where no model leads there any more. */
export function candidateAt({ models }: Configuration, origin: IdOrigin): Candidate | null {
  const { model, requestedModel } = origin;
  for (const { routes } of models)
    for (const route of routes) {
      const { channel } = route;
      const account = channel.accounts.find((one) => isMadeAt(origin, { channel, account: one }));
      if (account !== undefined && route.speaks.includes('responses'))
        return {
          channel,
          account,
          route,
          protocol: 'responses',
          weight: route.weight,
          model,
          requestedModel,
        };
    }
  return null;
}
