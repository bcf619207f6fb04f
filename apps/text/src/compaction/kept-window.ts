import { isMessage } from '@gateway/contracts/openai/responses';
import { isObject, type JsonObject, textAt } from '../wire/json-object.ts';
import type { CompactedWindow } from '../wire/tokens/compaction-seal.ts';
import { shortened } from './transcript.ts';

/** What of a conversation stays as it was: messages before its summary, and the last step after it. */
export type KeptWindow = Pick<CompactedWindow, 'before' | 'after'>;

/**
 * The items of a Responses input; no item replaces others.
 *
 * @param maxCharacters of the user's earlier messages the latest whole ones within it are kept
 */
export function keptItems(items: readonly unknown[], maxCharacters: number): KeptWindow {
  const start = lastStep(items);
  const earlier = items.slice(0, start).filter(isKeptItem);
  return { before: latest(earlier, isInstruction, maxCharacters), after: items.slice(start) };
}

/** The same of a Messages request. */
export function keptMessages(messages: readonly unknown[], maxCharacters: number): KeptWindow {
  const start = lastTurn(messages);
  const earlier = messages.slice(0, start).flatMap(keptMessage);
  return { before: latest(earlier, isSystem, maxCharacters), after: messages.slice(start) };
}

const typeOf = (item: unknown): string | null => (isObject(item) ? textAt(item, 'type') : null);
const callIdOf = (item: unknown): string | null => (isObject(item) ? textAt(item, 'call_id') : null);

const isOutput = (item: unknown): boolean => typeOf(item)?.endsWith('_call_output') ?? false;
const isCall = (item: unknown): boolean => typeOf(item)?.endsWith('_call') ?? false;
/** A message of anybody but the assistant. */
export const isInstructionOrUsers = (item: unknown): boolean =>
  isObject(item) && isMessage(item) && item.role !== 'assistant';

/** The first index of the last step: the latest message, or the latest outputs of tools with all of their calls. */
function lastStep(items: readonly unknown[]): number {
  let start = items.length;
  if (isOutput(items[start - 1])) while (isOutput(items[start - 1])) start -= 1;
  else while (isInstructionOrUsers(items[start - 1])) start -= 1;
  /** The ids of outputs whose calls have not come by yet. */
  const open = new Set<string | null>();
  for (let index = items.length - 1; index >= 0 && (index >= start || open.size > 0); index -= 1) {
    const id = callIdOf(items[index]);
    if (index >= start && isOutput(items[index])) open.add(id);
    else if (isCall(items[index]) && open.delete(id)) start = Math.min(start, index);
  }
  // Reasoning belongs to the call after it.
  if (isCall(items[start])) while (typeOf(items[start - 1]) === 'reasoning') start -= 1;
  return start;
}

const KEPT_TYPES: ReadonlySet<string | null> = new Set(['additional_tools', 'configuration_update']);

const isKeptItem = (item: unknown): boolean => isInstructionOrUsers(item) || KEPT_TYPES.has(typeOf(item));

const isInstruction = (item: unknown): boolean => isObject(item) && item.role !== 'user';

/** The first index of the last turn: the latest messages of the user, with the calls that they answer. */
function lastTurn(messages: readonly unknown[]): number {
  let start = messages.length;
  const roleAt = (index: number) => {
    const message = messages[index];
    return isObject(message) ? message.role : undefined;
  };
  if (roleAt(start - 1) === 'assistant') return start;
  while (start > 0 && roleAt(start - 1) !== 'assistant') start -= 1;
  const isAnswering = messages.slice(start).some((message) => blocksOf(message).some(isToolResult));
  return isAnswering && start > 0 ? start - 1 : start;
}

const blocksOf = (message: unknown): readonly unknown[] =>
  isObject(message) && Array.isArray(message.content) ? message.content : [];

const isToolResult = (block: unknown): boolean => typeOf(block) === 'tool_result';

const isSystem = (message: unknown): boolean => isObject(message) && message.role === 'system';

/** A message without the results of tools, which mean nothing without their calls; none of the model's. */
function keptMessage(message: unknown): JsonObject[] {
  if (!isObject(message) || message.role === 'assistant') return [];
  if (!Array.isArray(message.content)) return [message];
  const content = message.content.filter((block) => !isToolResult(block));
  return content.length === 0 && !isSystem(message) ? [] : [{ ...message, content }];
}

/** Instructions stay; of the others the latest that fit, without their pictures and files. */
function latest(
  entries: readonly unknown[],
  isAlways: (entry: unknown) => boolean,
  maxCharacters: number,
): readonly unknown[] {
  const shown = entries.map(withoutMedia).toReversed();
  let left = maxCharacters;
  const kept = shown.filter((entry) => {
    if (isAlways(entry)) return true;
    // A message that does not fit ends it: nothing before it is kept.
    left = left < 0 ? left : left - JSON.stringify(entry).length;
    return left >= 0;
  });
  return kept.reverse();
}

const MEDIA_NOTES: Readonly<Record<string, string>> = {
  input_image: '[an image]',
  input_file: '[a file]',
  input_audio: '[a sound]',
  image: '[an image]',
  document: '[a file]',
};

/** An item or message with a note instead of each picture and file: only the latest are shown again. */
export const withoutMedia = (entry: unknown): unknown => withParts(entry, notedPart);

/** The last step as later turns see it: what tools returned has been read, and its length is bounded. */
export const withShortOutputs = (entry: unknown): unknown => {
  if (!isObject(entry)) return entry;
  if (isOutput(entry)) return withParts(entry, shortPart);
  return withParts(entry, (block) => (isToolResult(block) ? withParts(block, shortPart) : block));
};

/** Of a tool's output, in characters. */
const MAX_OUTPUT_CHARACTERS = 12_000;

/** The same where texts are too long to be sent again with every turn: the summary has what they say. */
export const withShortTexts = (entry: unknown): unknown => withParts(entry, shortPart);

const shortPart = (part: unknown): unknown => {
  if (typeof part === 'string') return shortened(part, MAX_OUTPUT_CHARACTERS);
  const text = isObject(part) ? textAt(part, 'text') : null;
  return isObject(part) && text !== null
    ? { ...part, text: shortened(text, MAX_OUTPUT_CHARACTERS) }
    : notedPart(part);
};

/** The members in which items, messages and blocks have their content: a text, or parts. */
const CONTENT_MEMBERS = ['content', 'output'] as const;

function withParts(entry: unknown, map: (part: unknown) => unknown): unknown {
  if (!isObject(entry)) return entry;
  const mapped = { ...entry };
  for (const member of CONTENT_MEMBERS) {
    const content = entry[member];
    if (typeof content === 'string') Object.assign(mapped, { [member]: map(content) });
    if (Array.isArray(content)) Object.assign(mapped, { [member]: content.map(map) });
  }
  return mapped;
}

function notedPart(part: unknown): unknown {
  if (!isObject(part)) return part;
  const type = textAt(part, 'type') ?? '';
  const note = Object.hasOwn(MEDIA_NOTES, type) ? MEDIA_NOTES[type] : undefined;
  if (note === undefined) return withoutMedia(part);
  return { type: type.startsWith('input_') ? 'input_text' : 'text', text: note };
}
