import { builtInToolOf } from '@gateway/contracts/tools/built-in-tools';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import type { ToolBounds } from '@gateway/metering/price/most-tool-calls';
import { isObject, type JsonObject, objectAt, textAt } from '../../wire/json-object.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';
import { requestedTools } from './requested-tools.ts';

/** Input that a request names, or packs, so that its bytes do not tell its tokens. */
export interface UnsizedInput {
  /** The most tokens that it can be; infinite: as many as the model takes. */
  readonly tokens: number;
  /** There is sound, which some models bill by time. */
  readonly hearsSound: boolean;
  /** How often its provider may call tools, which may have a fee. */
  readonly tools: ToolBounds;
}

/** The dearest image of the dearest known way to count one, gpt-4o-mini's in high detail, has 48,169. */
const IMAGE_TOKENS = 50_000;

/** Parts of content by their type: what they can be at most. A part of another type is the text that it holds. */
const PART_TOKENS: ReadonlyMap<string, number> = new Map([
  ['image', IMAGE_TOKENS],
  ['image_url', IMAGE_TOKENS],
  ['input_image', IMAGE_TOKENS],
  ['computer_screenshot', IMAGE_TOKENS],
  ['image_generation_call', IMAGE_TOKENS],
  ['input_audio', 0],
  ['audio_url', Number.POSITIVE_INFINITY],
  ['document', Number.POSITIVE_INFINITY],
  ['document_url', Number.POSITIVE_INFINITY],
  ['file', Number.POSITIVE_INFINITY],
  ['input_file', Number.POSITIVE_INFINITY],
  ['container_upload', Number.POSITIVE_INFINITY],
  ['video', Number.POSITIVE_INFINITY],
  ['video_url', Number.POSITIVE_INFINITY],
  ['input_video', Number.POSITIVE_INFINITY],
]);
const SOUND: ReadonlySet<string> = new Set(['input_audio', 'audio_url']);

/** Sources of a document whose text is in the request. */
const TEXT_SOURCES: ReadonlySet<unknown> = new Set(['text', 'content']);

/** Members of a request that have the provider add what it finds or keeps. */
const ADDING_MEMBERS = [
  'prompt',
  'web_search_options',
  'search_parameters',
  'plugins',
  'data_sources',
  'mcp_servers',
  'cached_content',
  'cachedContent',
  'context_id',
] as const;

/** Built-in tools that only choose among what the request has. */
const SIZED_TOOLS: ReadonlySet<string> = new Set(['tool_search_tool']);

/** The protocols whose parts and tools are known by a `type`. */
type TypedParts = Exclude<TextProtocol, 'gemini'>;

/** What a request has of such input. */
export function unsizedInput(protocol: TextProtocol, body: JsonObject): UnsizedInput {
  const found = new Finding(boundAt(body.max_tool_calls));
  if (ADDING_MEMBERS.some((name) => isGiven(body[name]))) found.addAnyTool();
  if (protocol === 'gemini') return ofGoogle(found, body);
  found.addTools(protocol, body.tools);
  const google = objectAt(objectAt(body, 'extra_body') ?? {}, 'google');
  if (isGiven(google?.cached_content)) found.addAnyTool();
  found.visit(protocol, protocol === 'responses' ? body.input : body.messages);
  if (protocol === 'messages') found.visit(protocol, body.system);
  return sizeOf(found);
}

const sizeOf = ({ tokens, hearsSound, tools }: UnsizedInput): UnsizedInput => ({ tokens, hearsSound, tools });

/** The same of Google's contents, whose parts are known by their members. */
function ofGoogle(found: Finding, body: JsonObject): UnsizedInput {
  for (const { family } of requestedTools('gemini', { model: '', tools: body.tools })) found.addTool(family);
  for (const content of listOf(body.contents))
    for (const part of isObject(content) ? listOf(content.parts) : [])
      if (isObject(part)) found.visitGooglePart(part);
  return sizeOf(found);
}

const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];

/** A part's type in an item that was stored by `JSON.stringify`; within a text its quotes are escaped. */
const STORED_TYPE = /"type":"([a-z_]+)"/g;

/** The most tokens of such input in a stored item. It is not parsed: there may be thousands. */
export function unsizedTokensOf(json: string): number {
  let tokens = 0;
  for (const [, type = ''] of json.matchAll(STORED_TYPE)) tokens += PART_TOKENS.get(type) ?? 0;
  return tokens;
}

class Finding implements UnsizedInput {
  tokens = 0;
  hearsSound = false;
  readonly #calls = new Map<string, number>();
  #othersCalls = 0;
  readonly #totalCalls: number;

  constructor(totalCalls: number) {
    this.#totalCalls = totalCalls;
  }

  get tools(): ToolBounds {
    const calls = Object.fromEntries(this.#calls);
    return { calls, othersCalls: this.#othersCalls, total: this.#totalCalls };
  }

  /** Tools that the request does not name. */
  addAnyTool(): void {
    this.add(Number.POSITIVE_INFINITY);
    this.#othersCalls = Number.POSITIVE_INFINITY;
  }

  /** Those of a list of tools that the provider runs, which adds to the input what they return. */
  addTools(protocol: TypedParts, tools: unknown): void {
    for (const tool of Array.isArray(tools) ? tools : []) {
      if (!isObject(tool) || !isAddingTool(protocol, tool)) continue;
      this.add(Number.POSITIVE_INFINITY);
      const family = protocol === 'chat' ? null : builtInToolOf(protocol, textAt(tool, 'type') ?? '');
      if (family === null) this.#othersCalls = Number.POSITIVE_INFINITY;
      else this.#calls.set(family, (this.#calls.get(family) ?? 0) + boundAt(tool.max_uses));
    }
  }

  addTool(family: string): void {
    this.add(Number.POSITIVE_INFINITY);
    this.#calls.set(family, Number.POSITIVE_INFINITY);
  }

  /** A part of Google's, and those that a function has returned. */
  visitGooglePart(part: JsonObject): void {
    const inline = objectAt(part, 'inlineData') ?? objectAt(part, 'inline_data');
    if (inline !== null) {
      const type = textAt(inline, 'mimeType') ?? textAt(inline, 'mime_type') ?? '';
      if (type.startsWith('audio/')) this.hearsSound = true;
      else this.add(type.startsWith('image/') ? IMAGE_TOKENS : Number.POSITIVE_INFINITY);
    }
    if (isGiven(part.fileData ?? part.file_data)) this.add(Number.POSITIVE_INFINITY);
    const result = objectAt(part, 'functionResponse') ?? objectAt(part, 'function_response');
    for (const inner of listOf(result?.parts)) if (isObject(inner)) this.visitGooglePart(inner);
  }

  add(tokens: number): void {
    this.tokens += tokens;
  }

  /** Visits turns, the parts of their content, and what those contain. */
  visit(protocol: TypedParts, parts: unknown): void {
    for (const part of Array.isArray(parts) ? parts : []) if (isObject(part)) this.#part(protocol, part);
  }

  #part(protocol: TypedParts, part: JsonObject): void {
    const type = textAt(part, 'type') ?? '';
    const source = objectAt(part, 'source');
    if (SOUND.has(type)) this.hearsSound = true;
    if (isObject(part.audio)) this.add(IMAGE_TOKENS);
    if (source !== null && TEXT_SOURCES.has(source.type)) this.visit(protocol, source.content);
    else this.add(PART_TOKENS.get(type) ?? 0);
    // Mistral takes the address of a recording instead of its data.
    if (typeof part.input_audio === 'string') this.add(Number.POSITIVE_INFINITY);
    this.addTools(protocol, part.tools);
    this.visit(protocol, part.content);
    this.visit(protocol, isObject(part.output) ? [part.output] : part.output);
  }
}

/** Whether a tool is run by the provider. */
function isAddingTool(protocol: TypedParts, tool: JsonObject): boolean {
  const type = textAt(tool, 'type');
  if (type === null) return false;
  if (protocol === 'chat') return type !== 'function' && type !== 'custom';
  if (textAt(objectAt(tool, 'environment') ?? {}, 'type')?.startsWith('container')) return true;
  const family = builtInToolOf(protocol, type);
  return family !== null && !SIZED_TOOLS.has(family);
}

/** A bound on calls; infinite where there is none. */
const boundAt = (value: unknown): number => reportedCount(value) || Number.POSITIVE_INFINITY;

const isGiven = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== false;
