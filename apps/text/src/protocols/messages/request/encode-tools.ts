import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { customAsFunction, objectParameters } from '../../../neutral/encoding/function-tools.ts';
import { availableTools } from '../../../neutral/encoding/hosted-tools.ts';
import { selectTools, type ToolSelection } from '../../../neutral/encoding/tool-selection.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';
import type { FunctionTool, Tool, WebSearchTool } from '../../../neutral/tool.ts';

const DEFAULT_WEB_SEARCH = 'web_search_20250305';

const webSearchType = ({ target }: Encoder): string | null =>
  target.quirks.webSearch === undefined ? DEFAULT_WEB_SEARCH : target.quirks.webSearch;

/** The tools and the choice among them that this upstream gets. */
export function selectMessagesTools(encoder: Encoder): ToolSelection {
  const { conversation, target, losses } = encoder;
  const canSay = (tool: Tool) => tool.type === 'web-search' && webSearchType(encoder) !== null;
  const available = availableTools(conversation, target, canSay, losses);
  return selectTools(conversation, available);
}

export const encodeTools = (tools: readonly Tool[], encoder: Encoder): object[] =>
  tools.flatMap((tool) => encodeTool(tool, encoder) ?? []);

function encodeTool(tool: Tool, encoder: Encoder): object | null {
  switch (tool.type) {
    case 'function':
      return encodeFunction(tool, encoder);
    case 'custom': {
      const { description, parameters } = customAsFunction(tool);
      if (tool.grammar) {
        encoder.losses.drop([...tool.at, 'format'], 'the grammar is described to the model and not enforced');
      }
      const name = encoder.names.define(tool, true);
      return { name, ...(description && { description }), input_schema: parameters };
    }
    case 'web-search':
      return encodeWebSearch(tool, encoder);
    case 'hosted':
      return null;
  }
}

function encodeFunction(tool: FunctionTool, { names, target, losses }: Encoder): object {
  if (tool.strict && !target.quirks.strictTools) {
    losses.drop([...tool.at, 'strict'], 'strict tools are not known to this upstream');
  }
  return {
    name: names.define(tool, false),
    ...(tool.description && { description: tool.description }),
    input_schema: objectParameters(tool),
    ...(tool.strict && target.quirks.strictTools && { strict: true }),
  };
}

function encodeWebSearch(tool: WebSearchTool, encoder: Encoder): object {
  if (tool.contextSize && tool.contextSize !== 'medium') {
    encoder.losses.drop([...tool.at, 'search_context_size'], 'search results have no such size there');
  }
  const maxUses = tool.maxUses ?? encoder.conversation.maxToolCalls;
  return {
    type: webSearchType(encoder),
    name: 'web_search',
    ...(maxUses && { max_uses: maxUses }),
    ...(tool.allowedDomains && { allowed_domains: tool.allowedDomains }),
    ...(tool.blockedDomains && { blocked_domains: tool.blockedDomains }),
    ...(tool.userLocation && { user_location: { type: 'approximate', ...tool.userLocation } }),
  };
}

const CHOICES = { auto: 'auto', required: 'any', none: 'none' } as const;

/** Undefined where the default is the same. */
export function encodeToolChoice({ choice, tools }: ToolSelection, encoder: Encoder): object | undefined {
  const { conversation, names, target, losses } = encoder;
  if (tools.length === 0) return undefined;
  const oneAtATime = conversation.parallelToolCalls === false && choice?.type !== 'none';
  if (oneAtATime && !target.quirks.parallelToolCalls) {
    losses.drop(pathsOf(conversation).parallelToolCalls, 'not known to this upstream');
  }
  const parallel = oneAtATime && target.quirks.parallelToolCalls ? { disable_parallel_tool_use: true } : {};
  if (choice === undefined) return oneAtATime ? { type: 'auto', ...parallel } : undefined;
  if (choice.type !== 'tool') return { type: CHOICES[choice.type], ...parallel };
  const name = choice.tool.type === 'hosted' ? 'web_search' : names.upstreamName(choice.tool);
  return { type: 'tool', name, ...parallel };
}
