import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { objectParameters } from '../../../neutral/encoding/function-tools.ts';
import { availableTools } from '../../../neutral/encoding/hosted-tools.ts';
import { refuseParameter } from '../../../neutral/losses.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';
import type { CustomTool, FunctionTool, NamedTool, Tool, WebSearchTool } from '../../../neutral/tool.ts';

const DEFAULT_WEB_SEARCH = 'web_search';

const webSearchType = ({ target }: Encoder): string | null =>
  target.quirks.webSearch === undefined ? DEFAULT_WEB_SEARCH : target.quirks.webSearch;

export function selectResponsesTools(encoder: Encoder): Tool[] {
  const canSay = (tool: Tool) => tool.type === 'web-search' && webSearchType(encoder) !== null;
  return availableTools(encoder.conversation, encoder.target, canSay, encoder.losses);
}

export const encodeTools = (tools: readonly Tool[], encoder: Encoder): object[] =>
  tools.flatMap((tool) => encodeTool(tool, encoder) ?? []);

function encodeTool(tool: Tool, encoder: Encoder): object | null {
  switch (tool.type) {
    case 'function':
      return encodeFunction(tool, encoder);
    case 'custom':
      return encodeCustom(tool, encoder);
    case 'web-search':
      return encodeWebSearch(tool, encoder);
    case 'hosted':
      return null;
  }
}

/** `strict` is always sent: where it is left out, ordinary schemas would be refused or altered. */
function encodeFunction(tool: FunctionTool, { names, target, losses }: Encoder): object {
  const strict = (tool.strict ?? false) && target.quirks.strictTools;
  if (tool.strict && !strict)
    losses.drop([...tool.at, 'strict'], 'strict tools are not known to this upstream');
  return {
    type: 'function',
    name: names.define(tool, false),
    ...(tool.description && { description: tool.description }),
    parameters: objectParameters(tool),
    strict,
  };
}

const encodeCustom = (tool: CustomTool, { names }: Encoder): object => ({
  type: 'custom',
  name: names.define(tool, false),
  ...(tool.description && { description: tool.description }),
  ...(tool.grammar && { format: { type: 'grammar', ...tool.grammar } }),
});

function encodeWebSearch(tool: WebSearchTool, encoder: Encoder): object {
  if (tool.blockedDomains?.length) {
    refuseParameter(
      [...tool.at, 'blocked_domains'],
      'Domains cannot be kept out by the model that would answer.',
    );
  }
  return {
    type: webSearchType(encoder),
    ...(tool.allowedDomains && { filters: { allowed_domains: tool.allowedDomains } }),
    ...(tool.userLocation && { user_location: { type: 'approximate', ...tool.userLocation } }),
    ...(tool.contextSize && { search_context_size: tool.contextSize }),
  };
}

/** The bound on searches counts for all built-in calls here, so it is only sent where search is the only one. */
export function encodeMaxToolCalls(
  tools: readonly Tool[],
  { conversation, losses }: Encoder,
): number | undefined {
  if (conversation.maxToolCalls !== undefined) return conversation.maxToolCalls;
  const [search, ...others] = tools.filter((tool) => tool.type === 'web-search');
  if (search?.maxUses === undefined) return undefined;
  if (others.length === 0) return search.maxUses;
  losses.drop([...search.at, 'max_uses'], 'there is one bound for all built-in tools');
  return undefined;
}

function encodeNamed(tool: NamedTool, encoder: Encoder): object {
  return tool.type === 'hosted'
    ? { type: webSearchType(encoder) }
    : { type: tool.type, name: encoder.names.upstreamName(tool) };
}

/** @throws GatewayError where a call is demanded and there is no tool */
export function encodeToolChoice(tools: readonly Tool[], encoder: Encoder): unknown {
  const { toolChoice: choice } = encoder.conversation;
  if (choice === undefined) return undefined;
  if (tools.length === 0) {
    if (choice.type === 'auto' || choice.type === 'none') return undefined;
    refuseParameter(
      pathsOf(encoder.conversation).toolChoice,
      'A tool choice that demands a call needs at least one tool.',
    );
  }
  switch (choice.type) {
    case 'tool':
      return encodeNamed(choice.tool, encoder);
    case 'allowed':
      return {
        type: 'allowed_tools',
        mode: choice.mode,
        tools: choice.tools.map((tool) => encodeNamed(tool, encoder)),
      };
    default:
      return choice.type;
  }
}
