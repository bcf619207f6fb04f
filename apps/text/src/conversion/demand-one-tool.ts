import type { Conversation } from '../conversation/conversation.ts';
import type { NamedTool, Tool } from '../conversation/tool.ts';

/**
 * For servers that ignore a choice that names one tool: only that tool is offered, and a call is required. A choice that
 * names no offered function stays as it is.
 */
export function demandOneTool(conversation: Conversation): Conversation {
  const { toolChoice, tools } = conversation;
  if (toolChoice?.type !== 'tool') return conversation;
  const named = tools.filter((tool) => isNamed(tool, toolChoice.tool));
  return named.length === 0
    ? conversation
    : { ...conversation, tools: named, toolChoice: { type: 'required' } };
}

const isNamed = (tool: Tool, { name, namespace }: NamedTool): boolean =>
  (tool.type === 'function' || tool.type === 'custom') && tool.name === name && tool.namespace === namespace;
