import { MessagesTool, MessagesWebSearchTool } from '@gateway/contracts/anthropic/messages-wire';
import type { Path } from '../conversation/path.ts';
import type { Tool, ToolChoice } from '../conversation/tool.ts';
import type { Unsaid } from '../conversation/unsaid.ts';
import { readRequest } from '../wire.ts';

/** Hints on a tool that no other protocol has and that do not change what it is. */
const HINTS = [
  'cache_control',
  'input_examples',
  'defer_loading',
  'eager_input_streaming',
  'allowed_callers',
] as const;

export function decodeTool(value: { readonly [member: string]: unknown }, at: Path, unsaid: Unsaid): Tool {
  const tool = readRequest(MessagesTool, value, at);
  unsaid.dropPresent(value, HINTS, at, 'known to the messages protocol only');
  const type = tool.type ?? 'custom';
  if (type.startsWith('web_search_')) return decodeWebSearch(type, value, at);
  if (type !== 'custom') return { type: 'hosted', name: type, at };
  return {
    type: 'function',
    name: tool.name ?? '',
    at,
    ...(tool.description && { description: tool.description }),
    ...(tool.input_schema && { parameters: tool.input_schema }),
    ...(typeof tool.strict === 'boolean' && { strict: tool.strict }),
  };
}

function decodeWebSearch(name: string, value: unknown, at: Path): Tool {
  const tool = readRequest(MessagesWebSearchTool, value, at);
  return {
    type: 'web-search',
    name,
    at,
    ...(tool.allowed_domains && { allowedDomains: tool.allowed_domains }),
    ...(tool.blocked_domains && { blockedDomains: tool.blocked_domains }),
    ...(tool.user_location && { userLocation: tool.user_location }),
    ...(tool.max_uses && { maxUses: tool.max_uses }),
  };
}

export function decodeToolChoice(
  choice: { readonly type: 'auto' | 'any' | 'tool' | 'none'; readonly name?: string | undefined },
  tools: readonly Tool[],
): ToolChoice {
  if (choice.type === 'any') return { type: 'required' };
  if (choice.type !== 'tool') return { type: choice.type };
  const name = choice.name ?? '';
  const isSearch = name === 'web_search' && tools.some((tool) => tool.type === 'web-search');
  return { type: 'tool', tool: { name, type: isSearch ? 'hosted' : 'function' } };
}
