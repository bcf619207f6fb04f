import {
  type ResponsesRequestWire,
  ResponsesTool,
  ResponsesToolChoice,
} from '@gateway/contracts/openai/responses-wire';
import type { z } from 'zod';
import type { RequestReader } from '../../../neutral/request-reader.ts';
import type { NamedTool, Tool, ToolChoice } from '../../../neutral/tool.ts';
import type { Path } from '../../../wire/path.ts';
import { responsesCallerTool } from '../../caller-tools/responses-tools.ts';

type WireTool = { readonly type: string; readonly [member: string]: unknown };

/** A tool that the model itself may not call. */
const isForCodeAlone = ({ allowed_callers: callers }: WireTool): boolean =>
  Array.isArray(callers) && callers.length > 0 && !callers.includes('direct');

/** One entry of `tools`; a namespace holds several. */
export function decodeTool(tool: WireTool, at: Path, reader: RequestReader, namespace?: string): Tool[] {
  const home = namespace === undefined ? {} : { namespace };
  if (isForCodeAlone(tool)) {
    reader.drop(at, 'only code that runs at its provider may call the tool');
    return [];
  }
  if (tool.type === 'function') {
    const { name, description, parameters, strict } = reader.read(ResponsesTool.function, tool, at);
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
    const { name, description, format } = reader.read(ResponsesTool.custom, tool, at);
    const grammar =
      format?.type === 'grammar' ? { grammar: { syntax: format.syntax, definition: format.definition } } : {};
    return [{ type: 'custom', name, ...home, at, ...(description && { description }), ...grammar }];
  }
  if (tool.type === 'namespace') {
    const { name, tools } = reader.read(ResponsesTool.namespace, tool, at);
    return tools.flatMap((inner, index) => decodeTool(inner, [...at, 'tools', index], reader, name));
  }
  if (tool.type.startsWith('web_search')) return [decodeWebSearch(tool, at, reader)];
  return [decodeKnown(tool, at, reader) ?? { type: 'hosted', name: tool.type, at }];
}

/** A tool with items of its own whose calls the caller's program runs; null for others, and for a shell of the provider's. */
function decodeKnown(tool: WireTool, at: Path, reader: RequestReader): Tool | null {
  const found = responsesCallerTool(tool.type);
  if (found === null) return null;
  const settings = reader.read(ResponsesTool.known, tool, at);
  const { environment, display_width: width, display_height: height } = settings;
  if (typeof environment === 'object' && environment !== null && environment.type !== 'local') return null;
  const { name, parameters, known } = found;
  const screen = width && height ? ` The screen is ${width} by ${height} pixels.` : '';
  return { type: 'function', name, description: `${found.description}${screen}`, parameters, known, at };
}

function decodeWebSearch(tool: WireTool, at: Path, reader: RequestReader): Tool {
  const search = reader.read(ResponsesTool.web_search, tool, at);
  return {
    type: 'web-search',
    name: tool.type,
    at,
    ...(search.filters?.allowed_domains && { allowedDomains: search.filters.allowed_domains }),
    ...(search.user_location && { userLocation: search.user_location }),
    ...(search.search_context_size && { contextSize: search.search_context_size }),
  };
}

type NamedChoice = z.infer<typeof ResponsesToolChoice.named>;

const isOwn = (type: string): type is 'function' | 'custom' => type === 'function' || type === 'custom';

const named = ({ type, name, namespace }: NamedChoice): NamedTool => ({
  ...(isOwn(type) ? { name: name ?? '', type } : namedByType(type)),
  ...(namespace && { namespace }),
});

function namedByType(type: string): NamedTool {
  const known = responsesCallerTool(type);
  return known === null ? { name: type, type: 'hosted' } : { name: known.name, type: 'function' };
}

export function decodeToolChoice(
  choice: NonNullable<ResponsesRequestWire['tool_choice']>,
  reader: RequestReader,
): ToolChoice {
  const at = ['tool_choice'];
  if (typeof choice === 'string') return { type: choice };
  if (choice.type !== 'allowed_tools') {
    return { type: 'tool', tool: named(reader.read(ResponsesToolChoice.named, choice, at)) };
  }
  const { mode, tools } = reader.read(ResponsesToolChoice.allowed_tools, choice, at);
  return { type: 'allowed', mode: mode ?? 'auto', tools: (tools ?? []).map(named) };
}
