import { builtInToolOf } from '@gateway/contracts/tools/built-in-tools';
import { isObject, type JsonObject, objectAt, textAt } from '../../wire/json-object.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';

/** Input that a request names, or packs, so that its bytes do not tell its tokens. */
export interface UnsizedInput {
  /** The most tokens that it can be; infinite: as many as the model takes. */
  readonly tokens: number;
  /** There is sound, which some models bill by time. */
  readonly hearsSound: boolean;
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
  'context_id',
] as const;

/** Built-in tools that only choose among what the request has. */
const SIZED_TOOLS: ReadonlySet<string> = new Set(['tool_search_tool']);

/** What a request has of such input. */
export function unsizedInput(protocol: TextProtocol, body: JsonObject): UnsizedInput {
  const found = new Finding();
  if (ADDING_MEMBERS.some((name) => isGiven(body[name])) || hasAddingTool(protocol, body.tools))
    found.add(Number.POSITIVE_INFINITY);
  const google = objectAt(objectAt(body, 'extra_body') ?? {}, 'google');
  if (isGiven(google?.cached_content)) found.add(Number.POSITIVE_INFINITY);
  found.visit(protocol, protocol === 'responses' ? body.input : body.messages);
  if (protocol === 'messages') found.visit(protocol, body.system);
  return found;
}

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

  add(tokens: number): void {
    this.tokens += tokens;
  }

  /** Visits turns, the parts of their content, and what those contain. */
  visit(protocol: TextProtocol, parts: unknown): void {
    for (const part of Array.isArray(parts) ? parts : []) if (isObject(part)) this.#part(protocol, part);
  }

  #part(protocol: TextProtocol, part: JsonObject): void {
    const type = textAt(part, 'type') ?? '';
    const source = objectAt(part, 'source');
    if (SOUND.has(type)) this.hearsSound = true;
    if (isObject(part.audio)) this.add(IMAGE_TOKENS);
    if (source !== null && TEXT_SOURCES.has(source.type)) this.visit(protocol, source.content);
    else this.add(PART_TOKENS.get(type) ?? 0);
    // Mistral takes the address of a recording instead of its data.
    if (typeof part.input_audio === 'string') this.add(Number.POSITIVE_INFINITY);
    if (hasAddingTool(protocol, part.tools)) this.add(Number.POSITIVE_INFINITY);
    this.visit(protocol, part.content);
    this.visit(protocol, isObject(part.output) ? [part.output] : part.output);
  }
}

/** Whether one of these tools is run by the provider, which adds to the input what it returns. */
function hasAddingTool(protocol: TextProtocol, tools: unknown): boolean {
  return (Array.isArray(tools) ? tools : []).some((tool) => {
    const type = isObject(tool) ? textAt(tool, 'type') : null;
    if (type === null) return false;
    if (protocol === 'chat') return type !== 'function' && type !== 'custom';
    const environment = isObject(tool) ? objectAt(tool, 'environment') : null;
    if (textAt(environment ?? {}, 'type')?.startsWith('container')) return true;
    const family = builtInToolOf(protocol, type);
    return family !== null && !SIZED_TOOLS.has(family);
  });
}

const isGiven = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== false;
