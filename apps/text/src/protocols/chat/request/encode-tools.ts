import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { customAsFunction, objectParameters } from '../../../neutral/encoding/function-tools.ts';
import { availableTools } from '../../../neutral/encoding/hosted-tools.ts';
import { selectTools, type ToolSelection } from '../../../neutral/encoding/tool-selection.ts';
import { refuseParameter, refuseTool } from '../../../neutral/losses.ts';
import type { CustomTool, FunctionTool, Tool, WebSearchTool } from '../../../neutral/tool.ts';

/** The only way to request a search in chat: a request member of its own. */
const WEB_SEARCH_MEMBER = 'web_search_options';

export function selectChatTools(encoder: Encoder): ToolSelection {
  const { conversation, target, losses } = encoder;
  const canSay = (tool: Tool) => tool.type === 'web-search' && target.quirks.webSearch === WEB_SEARCH_MEMBER;
  return selectTools(conversation, availableTools(conversation, target, canSay, losses));
}

export const encodeTools = (tools: readonly Tool[], encoder: Encoder): object[] =>
  tools.flatMap((tool) => {
    if (tool.type === 'function') return [encodeFunction(tool, encoder)];
    return tool.type === 'custom' ? [encodeCustom(tool, encoder)] : [];
  });

function encodeFunction(tool: FunctionTool, { names, target, losses }: Encoder): object {
  if (tool.strict && !target.quirks.strictTools) {
    losses.drop([...tool.at, 'strict'], 'strict tools are not known to this upstream');
  }
  return {
    type: 'function',
    function: {
      name: names.define(tool, false),
      ...(tool.description && { description: tool.description }),
      parameters: objectParameters(tool),
      ...(tool.strict && target.quirks.strictTools && { strict: true }),
    },
  };
}

function encodeCustom(tool: CustomTool, { names, target, losses }: Encoder): object {
  if (target.quirks.customTools) {
    const format = tool.grammar && { format: { type: 'grammar', grammar: tool.grammar } };
    const described = tool.description ? { description: tool.description } : {};
    return { type: 'custom', custom: { name: names.define(tool, false), ...described, ...format } };
  }
  if (tool.grammar)
    losses.drop([...tool.at, 'format'], 'the grammar is described to the model and not enforced');
  const { description, parameters } = customAsFunction(tool);
  const name = names.define(tool, true);
  return { type: 'function', function: { name, ...(description && { description }), parameters } };
}

/** This protocol has no restrictions of a search, and a caller relies on them. */
function encodeWebSearch(tool: WebSearchTool, { losses }: Encoder): object {
  for (const member of ['allowedDomains', 'blockedDomains'] as const) {
    if (tool[member]?.length) {
      refuseTool(tool.at, `Tool '${tool.name}' cannot be limited to domains by the model that would answer.`);
    }
  }
  if (tool.maxUses !== undefined) losses.drop([...tool.at, 'max_uses'], 'searches cannot be counted there');
  const { type: _type, ...approximate } = tool.userLocation ?? {};
  return {
    ...(tool.userLocation && { user_location: { type: 'approximate', approximate } }),
    ...(tool.contextSize && { search_context_size: tool.contextSize }),
  };
}

export function encodeWebSearchMember(tools: readonly Tool[], encoder: Encoder): object {
  const search = tools.find((tool) => tool.type === 'web-search');
  return search === undefined ? {} : { [WEB_SEARCH_MEMBER]: encodeWebSearch(search, encoder) };
}

export function encodeToolChoice({ choice, tools }: ToolSelection, encoder: Encoder): unknown {
  if (choice === undefined || tools.every((tool) => tool.type === 'web-search')) return undefined;
  if (choice.type !== 'tool') return choice.type;
  const { tool } = choice;
  if (tool.type === 'hosted') {
    refuseParameter(
      ['tool_choice'],
      `Tool '${tool.name}' cannot be demanded from the model that would answer.`,
    );
  }
  const name = encoder.names.upstreamName(tool);
  const isCustom = tool.type === 'custom' && encoder.target.quirks.customTools;
  return isCustom ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } };
}
