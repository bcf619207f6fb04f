import type { Conversation } from '../conversation.ts';
import { refuseParameter } from '../losses.ts';
import { pathsOf } from '../scalar-paths.ts';
import type { NamedTool, Tool, ToolChoice } from '../tool.ts';

/** Whether a list of allowed tools names a tool. */
function allowedBy(wanted: readonly NamedTool[]): (tool: Tool) => boolean {
  const names = new Set(wanted.map(({ name }) => name));
  const namespaced = new Set(wanted.map(({ name, namespace }) => JSON.stringify([name, namespace])));
  const allowsSearch = wanted.some(({ name }) => name.startsWith('web_search'));
  return (tool) =>
    tool.type === 'function' || tool.type === 'custom'
      ? namespaced.has(JSON.stringify([tool.name, tool.namespace]))
      : names.has(tool.name) || (tool.type === 'web-search' && allowsSearch);
}

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
  const tools = isAllowedList ? available.filter(allowedBy(toolChoice.tools)) : available;
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
