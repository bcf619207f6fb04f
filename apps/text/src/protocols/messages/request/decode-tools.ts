import {
  type MessagesRequestWire,
  MessagesTool,
  MessagesWebSearchTool,
} from '@gateway/contracts/anthropic/messages-wire';
import type { RequestReader } from '../../../conversation/request-reader.ts';
import type { Tool, ToolChoice } from '../../../conversation/tool.ts';
import type { Path } from '../../../wire/path.ts';

type WireTool = { readonly [member: string]: unknown; readonly type?: string | null | undefined };

export function decodeTool(value: WireTool, at: Path, reader: RequestReader): Tool {
  const type = value.type ?? 'custom';
  if (type.startsWith('web_search_')) return decodeWebSearch(type, value, at, reader);
  if (type !== 'custom') return { type: 'hosted', name: type, at };
  const tool = reader.read(MessagesTool, value, at);
  return {
    type: 'function',
    name: tool.name,
    at,
    ...(tool.description && { description: tool.description }),
    ...(tool.input_schema && { parameters: tool.input_schema }),
    ...(typeof tool.strict === 'boolean' && { strict: tool.strict }),
  };
}

function decodeWebSearch(name: string, value: WireTool, at: Path, reader: RequestReader): Tool {
  const tool = reader.read(MessagesWebSearchTool, value, at);
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

type WireChoice = NonNullable<MessagesRequestWire['tool_choice']>;

export function decodeToolChoice(choice: WireChoice, tools: readonly Tool[]): ToolChoice {
  if (choice.type === 'any') return { type: 'required' };
  if (choice.type !== 'tool') return { type: choice.type };
  const { name } = choice;
  const isSearch = name === 'web_search' && tools.some((tool) => tool.type === 'web-search');
  return { type: 'tool', tool: { name, type: isSearch ? 'hosted' : 'function' } };
}
