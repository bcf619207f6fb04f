import type { Surroundings } from '@gateway/hooks/check';
import { isObject, type JsonObject, textAt } from '../../wire/json-object.ts';

/** Members of a request that have no part of its conversation. */
const TOOL_LISTS: ReadonlySet<string> = new Set(['tools', 'functions']);

interface Found {
  readonly images: string[];
  readonly tools: unknown[];
  readonly toolCalls: unknown[];
}

/** What a request's body has beside its texts, of every protocol. Tools and calls are as Chat Completions has them, where they are functions. */
export function surroundingsIn(body: unknown): Surroundings {
  const found: Found = { images: [], tools: [], toolCalls: [] };
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
  const image = imageOf(value);
  if (image !== null) {
    found.images.push(image);
    return;
  }
  const call = callOf(value);
  if (call !== null) {
    found.toolCalls.push(call);
    return;
  }
  for (const member of Object.values(value)) visit(member, found);
}

/** An image as a URL: of Chat Completions and Responses, of Messages, of Gemini. */
function imageOf(value: JsonObject): string | null {
  const { type, image_url: named, source } = value;
  if (type === 'image_url' || type === 'input_image')
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

const dataUrl = (type: unknown, data: unknown): string | null =>
  typeof type === 'string' && typeof data === 'string' ? `data:${type};base64,${data}` : null;

const imageUrl = (
  type: unknown,
  data: unknown,
  url: (type: unknown, data: unknown) => string | null,
): string | null => (typeof type === 'string' && type.startsWith('image/') ? url(type, data) : null);

/** A call of a function in an earlier answer. */
function callOf(value: JsonObject): unknown {
  if (value.type === 'function' && isObject(value.function) && 'arguments' in value.function) return value;
  if (value.type === 'function_call') return called(value.call_id, value.name, value.arguments);
  if (value.type === 'tool_use') return called(value.id, value.name, JSON.stringify(value.input ?? {}));
  const { functionCall: call } = value;
  return isObject(call) ? called(call.id, call.name, JSON.stringify(call.args ?? {})) : null;
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
