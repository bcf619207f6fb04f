import { GatewayError } from '@gateway/contracts/gateway-error';
import { offersTool } from '@gateway/contracts/tools/built-in-tools';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Affinity, ResolvedModel } from '@gateway/upstream/catalog';
import type { Upstream } from '@gateway/upstream/upstream';
import type { RequestedTool } from '../request/requested-tools.ts';
import type { TextEndpoint } from '../request/text-endpoint.ts';

/**
 * The channels that can get a request, best first: those of its own protocol that offer every built-in tool that it
 * names, and those of other protocols. Only the translation shows whether one of these can get it.
 *
 * @throws {GatewayError} `unsupported_tool` for the first tool that no such channel offers
 */
export function chooseCandidates(
  upstream: Pick<Upstream, 'candidates'>,
  model: ResolvedModel,
  endpoint: TextEndpoint,
  tools: readonly RequestedTool[],
  affinity: () => Affinity | null,
): readonly Candidate[] {
  const offering = (required: readonly RequestedTool[]) =>
    upstream.candidates({
      model,
      protocol: endpoint.passedTo,
      orElse: endpoint.translatedTo,
      affinity,
      ...(required.length === 0
        ? {}
        : {
            requires: ({ builtInTools }, protocol) =>
              protocol !== endpoint.passedTo ||
              required.every(({ family }) => offersTool(builtInTools, family)),
          }),
    });
  const candidates = offering(tools);
  if (candidates.length > 0) return candidates;
  const named = tools.some(({ path }) => path[0] === 'tool_choice');
  if (model.dropUnavailableTools && !named) return offering([]);
  const families = new Set<string>();
  const missing = tools.find((tool, index) => {
    if (families.has(tool.family)) return false;
    families.add(tool.family);
    return offering(tools.slice(0, index + 1)).length === 0;
  });
  if (missing === undefined) return candidates;
  throw new GatewayError('unsupported_tool', {
    path: missing.path,
    message: `Tool '${missing.type}' is not available for model '${model.name}'.`,
  });
}
