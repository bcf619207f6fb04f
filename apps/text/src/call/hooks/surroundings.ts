import type { Surroundings } from '@gateway/hooks/check';
import { isObject, type JsonObject, textAt } from '../../wire/json-object.ts';

/** Members of a request that have no part of its conversation. */
const TOOL_LISTS: ReadonlySet<string> = new Set(['tools', 'functions']);

interface Found {
  readonly images: string[];
  namedImages: number;
  readonly tools: unknown[];
  readonly toolCalls: unknown[];
}

/** What a request's body has beside its texts, of every protocol. Tools and calls are as Chat Completions has them, where they are functions. */
export function surroundingsIn(body: unknown): Surroundings {
  const found: Found = { images: [], namedImages: 0, tools: [], toolCalls: [] };
  if (!isObject(body)) return found;
  for (const [name, value] of Object.entries(body)) {
    if (TOOL_LISTS.has(name)) found.tools.push(...objectsIn(value).flatMap(toolsOf));
    else visit(value, found);
  }
  return found;
}

const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

function visit(value: unknown, found: Found): void {
  if (Array.isArray(value)) {
    for (const one of value) visit(one, found);
    return;
  }
  if (!isObject(value)) return;
  // One that has a URL too: which of them its provider takes is not known.
  if (isNamedImage(value)) found.namedImages += 1;
  const image = imageOf(value);
  if (image !== null) {
    found.images.push(image);
    return;
  }
  const call = callOf(value);
  if (call !== null) {
    found.toolCalls.push(call);
    // A message has more than its call.
    if (!('role' in value)) return;
  }
  for (const member of Object.values(value)) visit(member, found);
}

/** Of Chat Completions and Responses; the last is what a computer shows. */
const IMAGES: ReadonlySet<string> = new Set(['image_url', 'input_image', 'computer_screenshot']);

/** An image as a URL: of Chat Completions and Responses, of Messages, of Gemini. */
function imageOf(value: JsonObject): string | null {
  const { type, image_url: named, source } = value;
  if (typeof type === 'string' && IMAGES.has(type))
    return isObject(named) ? textAt(named, 'url') : textAt(value, 'image_url');
  if (type === 'image' && isObject(source))
    return source.type === 'base64' ? dataUrl(source.media_type, source.data) : textAt(source, 'url');
  const inline = value.inlineData ?? value.inline_data;
  if (isObject(inline)) return imageUrl(inline.mimeType ?? inline.mime_type, inline.data, dataUrl);
  const file = value.fileData ?? value.file_data;
  return isObject(file)
    ? imageUrl(file.mimeType ?? file.mime_type, file.fileUri ?? file.file_uri, (_type, uri) =>
        typeof uri === 'string' ? uri : null,
      )
    : null;
}

/** An image that is in the provider's files: of Responses and Messages. */
function isNamedImage({ type, source, file_id: id }: JsonObject): boolean {
  if (type === 'image') return isObject(source) && source.type === 'file';
  return typeof type === 'string' && IMAGES.has(type) && typeof id === 'string' && id !== '';
}

const dataUrl = (type: unknown, data: unknown): string | null =>
  typeof type === 'string' && typeof data === 'string' ? `data:${type};base64,${data}` : null;

const imageUrl = (
  type: unknown,
  data: unknown,
  url: (type: unknown, data: unknown) => string | null,
): string | null => (typeof type === 'string' && type.startsWith('image/') ? url(type, data) : null);

/** Calls of Messages: of the caller's tools, the provider's and those of MCP servers. */
const TOOL_USES: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use']);

/** A call of a tool in an earlier answer. */
function callOf(value: JsonObject): unknown {
  const { type, call_id: id, name } = value;
  if (type === 'function' && isObject(value.function) && 'arguments' in value.function) return value;
  if (type === 'custom' && isObject(value.custom) && 'input' in value.custom) return value;
  if (type === 'function_call') return called(id, name, value.arguments);
  if (type === 'custom_tool_call')
    return { id: id ?? null, type: 'custom', custom: { name, input: value.input } };
  if (TOOL_USES.has(type)) return called(value.id, name, JSON.stringify(value.input ?? {}));
  // Gemini's, and the one of a message as Chat Completions had it first.
  const call = value.functionCall ?? value.function_call;
  if (!isObject(call)) return null;
  return called(call.id, call.name, call.arguments ?? JSON.stringify(call.args ?? {}));
}

const called = (id: unknown, name: unknown, args: unknown) => ({
  id: id ?? null,
  type: 'function',
  function: { name, arguments: args },
});

/** Built-in tools stay as they are. */
function toolsOf(tool: JsonObject): readonly unknown[] {
  const declared = tool.functionDeclarations ?? tool.function_declarations;
  if (declared !== undefined) return objectsIn(declared).map(toolOf);
  if (isObject(tool.function)) return [tool];
  const isFunction = tool.type === 'function' || tool.type === 'custom' || tool.type === undefined;
  return [isFunction && typeof tool.name === 'string' ? toolOf(tool) : tool];
}

const toolOf = ({ name, description, parameters, input_schema, parametersJsonSchema }: JsonObject) => ({
  type: 'function',
  function: { name, description, parameters: parameters ?? input_schema ?? parametersJsonSchema },
});
