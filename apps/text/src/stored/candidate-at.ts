import type { Candidate } from '@gateway/upstream/catalog';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import type { IdOrigin } from './id-origins.ts';

/** The channel that made a response, as the only candidate; null where no model leads there any more. */
export function candidateAt({ models }: Configuration, origin: IdOrigin): Candidate | null {
  const { model, requestedModel } = origin;
  for (const { routes } of models)
    for (const route of routes) {
      const { channel } = route;
      if (channel.name === origin.channel && channel.speaks.includes('responses'))
        return { channel, route, protocol: 'responses', model, requestedModel };
    }
  return null;
}
