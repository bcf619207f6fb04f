import { builtInToolOf, offersTool } from '@gateway/contracts/built-in-tools';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate, ResolvedModel } from '@gateway/upstream/catalog';
import type { Upstream } from '@gateway/upstream/upstream';
import type { TextEndpoint, TextRequest } from './text-endpoint.ts';

interface AskedTool {
  /** As the caller wrote it. */
  readonly type: string;
  readonly family: string;
  readonly path: (string | number)[];
}

/**
 * The channels that can carry a request, best first: those that can serve its endpoint and offer every built-in tool it asks for.
 *
 * @throws {GatewayError} `unsupported_tool` for the first tool that no such channel offers
 */
export function chooseCandidates(
  upstream: Pick<Upstream, 'candidates'>,
  model: ResolvedModel,
  endpoint: TextEndpoint,
  request: TextRequest,
): readonly Candidate[] {
  const tools = askedTools(endpoint.protocol, request);
  const offering = (asked: readonly AskedTool[]) =>
    endpoint.servedBy.flatMap((protocol) =>
      upstream.candidates({
        model,
        protocol,
        ...(asked.length === 0
          ? {}
          : {
              requires: ({ builtInTools }) => asked.every(({ family }) => offersTool(builtInTools, family)),
            }),
      }),
    );
  const candidates = offering(tools);
  if (candidates.length > 0) return candidates;
  const missing = tools.find((_, index) => offering(tools.slice(0, index + 1)).length === 0);
  if (missing === undefined) return candidates;
  throw new GatewayError('unsupported_tool', {
    path: missing.path,
    message: `Tool '${missing.type}' is not available for model '${model.name}'.`,
  });
}

/** Forms of `tool_choice` that say how to choose and name no tool of their own. */
const CHOICE_FORMS = new Set(['allowed_tools', 'auto', 'any', 'none', 'tool']);

function askedTools(
  protocol: TextEndpoint['protocol'],
  { tools, tool_choice: choice }: TextRequest,
): AskedTool[] {
  const asked: AskedTool[] = [];
  const ask = (type: string, path: (string | number)[]) => {
    const family = builtInToolOf(protocol, type);
    if (family !== null) asked.push({ type, family, path });
  };
  for (const [index, tool] of (tools ?? []).entries()) if (tool.type) ask(tool.type, ['tools', index]);
  if (typeof choice === 'object' && choice !== null && !CHOICE_FORMS.has(choice.type))
    ask(choice.type, ['tool_choice']);
  return asked;
}
