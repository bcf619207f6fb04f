import { ResponsesTool } from '@gateway/contracts/openai/responses-wire';
import type { Path } from '../conversation/path.ts';
import type { NamedTool, Tool, ToolChoice } from '../conversation/tool.ts';
import type { Unsaid } from '../conversation/unsaid.ts';
import { readRequest } from '../wire.ts';

type WireTool = { readonly type: string; readonly [member: string]: unknown };

const HINTS = ['output_schema', 'defer_loading', 'allowed_callers', 'async'] as const;
const SEARCH_HINTS = ['external_web_access', 'search_content_types'] as const;
const ONLY_HERE = 'known to the responses protocol only';

/** One entry of `tools`; a namespace holds several. */
export function decodeTool(tool: WireTool, at: Path, unsaid: Unsaid, namespace?: string): Tool[] {
  unsaid.dropPresent(tool, HINTS, at, ONLY_HERE);
  const home = namespace === undefined ? {} : { namespace };
  if (tool.type === 'function') {
    const { name, description, parameters, strict } = readRequest(ResponsesTool.function, tool, at);
    return [
      {
        type: 'function',
        name,
        ...home,
        at,
        ...(description && { description }),
        ...(parameters && { parameters }),
        ...(typeof strict === 'boolean' && { strict }),
      },
    ];
  }
  if (tool.type === 'custom') {
    const { name, description, format } = readRequest(ResponsesTool.custom, tool, at);
    const { syntax, definition } = format ?? {};
    const grammar = syntax && definition ? { grammar: { syntax, definition } } : {};
    return [{ type: 'custom', name, ...home, at, ...(description && { description }), ...grammar }];
  }
  if (tool.type === 'namespace') {
    const { name, tools } = readRequest(ResponsesTool.namespace, tool, at);
    return tools.flatMap((inner, index) => decodeTool(inner, [...at, 'tools', index], unsaid, name));
  }
  if (tool.type.startsWith('web_search')) return [decodeWebSearch(tool, at, unsaid)];
  return [{ type: 'hosted', name: tool.type, at }];
}

function decodeWebSearch(tool: WireTool, at: Path, unsaid: Unsaid): Tool {
  unsaid.dropPresent(tool, SEARCH_HINTS, at, ONLY_HERE);
  const search = readRequest(ResponsesTool.web_search, tool, at);
  return {
    type: 'web-search',
    name: tool.type,
    at,
    ...(search.filters?.allowed_domains && { allowedDomains: search.filters.allowed_domains }),
    ...(search.user_location && { userLocation: search.user_location }),
    ...(search.search_context_size && { contextSize: search.search_context_size }),
  };
}

type Choice =
  | 'none'
  | 'auto'
  | 'required'
  | {
      readonly type: string;
      readonly name?: string | undefined;
      readonly namespace?: unknown;
      readonly mode?: 'auto' | 'required' | undefined;
      readonly tools?: readonly { readonly type: string; readonly name?: string | undefined }[] | undefined;
    };

const named = (choice: { type: string; name?: string | undefined; namespace?: unknown }): NamedTool => {
  const isOwn = choice.type === 'function' || choice.type === 'custom';
  return {
    name: isOwn ? (choice.name ?? '') : choice.type,
    type: choice.type === 'function' || choice.type === 'custom' ? choice.type : 'hosted',
    ...(typeof choice.namespace === 'string' && { namespace: choice.namespace }),
  };
};

export function decodeToolChoice(choice: Choice): ToolChoice {
  if (typeof choice === 'string') return { type: choice };
  if (choice.type !== 'allowed_tools') return { type: 'tool', tool: named(choice) };
  return { type: 'allowed', mode: choice.mode ?? 'auto', tools: (choice.tools ?? []).map(named) };
}
