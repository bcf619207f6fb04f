import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { Upstream } from '@gateway/upstream/upstream';
import { rulesOfCandidate } from '../families/rules-for.ts';

/** The channels that stream a model's images, best first. @throws {GatewayError} `unsupported_parameter` where none does */
export function streamingCandidates(
  upstream: Pick<Upstream, 'candidates'>,
  model: ResolvedModel,
): readonly Candidate[] {
  const candidates = upstream
    .candidates({ model, protocol: 'images' })
    .filter((candidate) => rulesOfCandidate(model, candidate).streams);
  if (candidates.length > 0) return candidates;
  throw new GatewayError('unsupported_parameter', {
    path: ['stream'],
    message: `Unsupported parameter: 'stream' is not available with the model '${model.name}'.`,
  });
}
