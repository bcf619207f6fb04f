import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { hooksFor } from '@gateway/hooks/open-hooks';
import { openBatchApi, takesBatches } from '@gateway/upstream/batches/open-batch-api';
import type { Candidate } from '@gateway/upstream/candidate';
import { modelFor } from '@gateway/upstream/model-for';
import type { Upstream } from '@gateway/upstream/upstream';
import { z } from 'zod';
import type { BatchEndpoint } from '../batch-endpoint.ts';
import type { FileLine } from '../batch-lines.ts';

interface Choosing {
  readonly upstream: Upstream;
  readonly endpoint: BatchEndpoint;
  readonly identity: Identity;
}

const Named = z.object({ body: z.object({ model: z.string() }) });

/** Whether any channel's provider does batches at all. */
export const hasProviders = ({ configuration }: Pick<Upstream, 'configuration'>): boolean =>
  [...configuration.channels.values()].some(({ batches }) => batches !== null);

/** The provider that a batch goes to: all of its lines lead to it before any other, and are in its protocol. Null: there is none. */
export async function chooseProvider(
  lines: AsyncIterable<FileLine>,
  { upstream, endpoint, identity }: Choosing,
): Promise<Candidate | null> {
  const models = new Set<string>();
  let chosen: Candidate | null = null;
  for await (const { bytes } of lines) {
    const { model } = Named.parse(JSON.parse(bytes.toString())).body;
    if (models.has(model)) continue;
    models.add(model);
    const first = firstOf(model, { upstream, endpoint, identity });
    if (first === null) return null;
    if (chosen === null) chosen = first;
    else if (first.channel !== chosen.channel || (first.model !== chosen.model && isOneModel(first)))
      return null;
  }
  return chosen;
}

/** The candidate that a model leads to in any case, where its provider does batches; null where there is none. */
function firstOf(name: string, { upstream, endpoint, identity }: Choosing): Candidate | null {
  const { passedTo: protocol, translatedTo } = endpoint;
  // A provider must not get what a hook would have held back.
  if (hooksFor(upstream.configuration.hooks, identity, name).length > 0) return null;
  try {
    const model = modelFor(upstream, { name, protocols: [protocol, ...translatedTo], identity });
    const candidates = upstream.candidates({ model, protocol, orElse: translatedTo });
    const [first] = candidates;
    if (first === undefined || first.protocol !== protocol || !takesBatches(first.channel, protocol))
      return null;
    const others = candidates.filter(({ route }) => route.priority === first.route.priority);
    return others.every(({ route }) => route === first.route) ? first : null;
  } catch (error) {
    // Its lines are refused one by one.
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

const isOneModel = ({ channel, account, protocol }: Candidate): boolean =>
  openBatchApi(channel, account, protocol)?.needsOneModel ?? true;
