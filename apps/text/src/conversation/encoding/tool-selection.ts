import type { Conversation } from '../conversation.ts';
import { refuseParameter } from '../losses.ts';
import { pathsOf } from '../scalar-paths.ts';
import type { NamedTool, Tool, ToolChoice } from '../tool.ts';

const isNamed = (tool: Tool, wanted: NamedTool): boolean =>
  tool.type === 'function' || tool.type === 'custom'
    ? tool.name === wanted.name && tool.namespace === wanted.namespace
    : tool.name === wanted.name || (tool.type === 'web-search' && wanted.name.startsWith('web_search'));

/** A tool choice that the available tools can honour; undefined where there is nothing to choose from. */
export interface ToolSelection {
  readonly tools: readonly Tool[];
  readonly choice: Exclude<ToolChoice, { type: 'allowed' }> | undefined;
}

/**
 * Tools and choice for upstreams that know no list of allowed tools: the others are simply not shown.
 * @throws GatewayError where a call is demanded and no tool is left
 */
export function selectTools(conversation: Conversation, available: readonly Tool[]): ToolSelection {
  const { toolChoice } = conversation;
  const isAllowedList = toolChoice?.type === 'allowed';
  const tools = isAllowedList
    ? available.filter((tool) => toolChoice.tools.some((wanted) => isNamed(tool, wanted)))
    : available;
  const choice = isAllowedList ? { type: toolChoice.mode } : toolChoice;
  if (tools.length > 0) return { tools, choice };
  if (choice?.type === 'required' || choice?.type === 'tool') {
    refuseParameter(
      pathsOf(conversation).toolChoice,
      'A tool choice that demands a call needs at least one tool.',
    );
  }
  return { tools, choice: undefined };
}
