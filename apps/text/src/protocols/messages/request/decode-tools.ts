import {
  MessagesKnownTool,
  type MessagesRequestWire,
  MessagesTool,
  MessagesToolset,
  MessagesWebSearchTool,
} from '@gateway/contracts/anthropic/messages-wire';
import type { RequestReader } from '../../../neutral/request-reader.ts';
import type { FunctionTool, Tool, ToolChoice } from '../../../neutral/tool.ts';
import type { Path } from '../../../wire/path.ts';
import { messagesClientTool } from '../../caller-tools/messages-tools.ts';
import { messagesToolset } from '../../caller-tools/messages-toolsets.ts';

type WireTool = { readonly [member: string]: unknown; readonly type?: string | null | undefined };

/** One entry of `tools`; a toolset is several. */
export function decodeTool(value: WireTool, at: Path, reader: RequestReader): Tool[] {
  const type = value.type ?? 'custom';
  if (type.startsWith('web_search_')) return [decodeWebSearch(type, value, at, reader)];
  if (type === 'custom') return [decodeOwn(value, at, reader)];
  return decodeKnown(type, value, at, reader) ?? [{ type: 'hosted', name: type, at }];
}

/** Tools whose schemas only Claude knows, and whose calls the caller's program runs: null for other types. */
function decodeKnown(type: string, value: WireTool, at: Path, reader: RequestReader): FunctionTool[] | null {
  const toolset = messagesToolset(type);
  if (toolset !== null) {
    const { configs } = reader.read(MessagesToolset, value, at);
    return toolset
      .tools(configs ?? {})
      .map((tool) => ({ type: 'function', namespace: toolset.name, at, ...tool }));
  }
  const clientTool = messagesClientTool(type);
  if (clientTool === null) return null;
  const { name, strict, ...settings } = reader.read(MessagesKnownTool, value, at);
  // Its schemas are not written the way that strict servers want them.
  if (strict)
    reader.drop([...at, 'strict'], 'the tool is described to the model and its schema not enforced');
  return [{ type: 'function', name, at, ...clientTool(settings) }];
}

function decodeOwn(value: WireTool, at: Path, reader: RequestReader): FunctionTool {
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
  if (name === 'web_search' && tools.some((tool) => tool.type === 'web-search'))
    return { type: 'tool', tool: { name, type: 'hosted' } };
  const functions = tools.filter((tool) => tool.type === 'function');
  // A toolset is chosen by its calls' `toolset_name`, or by its type: then one of its members has to be called.
  const family = messagesToolset(name)?.name ?? name;
  const members = functions.filter((tool) => tool.namespace === family);
  if (members.length > 0 && functions.every((tool) => tool.name !== name))
    return {
      type: 'allowed',
      mode: 'required',
      tools: members.map((tool) => ({ name: tool.name, namespace: family, type: 'function' })),
    };
  const namespace = functions.some((tool) => tool.name === name && tool.namespace === undefined)
    ? undefined
    : functions.find((tool) => tool.name === name)?.namespace;
  return { type: 'tool', tool: { name, type: 'function', ...(namespace && { namespace }) } };
}
