import { asList, asText, isObject } from './json-value.ts';

const CHARACTERS_PER_TOKEN = 4;
const TOKENS_PER_MEDIA_PART = 85;

/** The simulator's one rule for tokens: one for every started four characters. */
export const countTokens = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN);

/** Cuts a text so that it counts at most `tokens`. */
export const cutToTokens = (text: string, tokens: number): string =>
  text.slice(0, Math.max(0, tokens) * CHARACTERS_PER_TOKEN);

/** A text that counts exactly `tokens`, in words of one token each. */
export const textOfTokens = (tokens: number): string => {
  const words = ['one', 'two', 'six', 'ten', 'sun', 'sea', 'sky', 'air'];
  return Array.from({ length: tokens }, (_, index) => words[index % words.length]).join(' ');
};

const MEDIA_TYPES = new Set([
  'input_image',
  'input_file',
  'input_audio',
  'image',
  'document',
  'image_url',
  'file',
]);

/** Settings of a request, which the model does not read. */
const SILENT_MEMBERS = new Set([
  'type',
  'role',
  'id',
  'status',
  'call_id',
  'tool_use_id',
  'tool_call_id',
  'signature',
  'encrypted_content',
  'cache_control',
]);

interface Weight {
  characters: number;
  mediaParts: number;
}

const weigh = (value: unknown, weight: Weight): void => {
  if (typeof value === 'string') {
    weight.characters += value.length;
  } else if (Array.isArray(value)) {
    for (const entry of value) weigh(entry, weight);
  } else if (isObject(value)) {
    if (MEDIA_TYPES.has(asText(value.type))) {
      weight.mediaParts += 1;
      return;
    }
    for (const name in value) if (!SILENT_MEMBERS.has(name)) weigh(value[name], weight);
  }
};

/**
 * Input tokens of a request: every text that the model reads, by {@link countTokens}, and 85 for each image or file.
 * Tool definitions count by their strings.
 */
export const countInputTokens = (...read: readonly unknown[]): number => {
  const weight: Weight = { characters: 0, mediaParts: 0 };
  for (const value of read) weigh(value, weight);
  return Math.ceil(weight.characters / CHARACTERS_PER_TOKEN) + weight.mediaParts * TOKENS_PER_MEDIA_PART;
};

/** Word-sized pieces that join to the text again. */
export const splitWords = (text: string): string[] => text.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? [];

/** The texts of a content member: a string, or a list of parts with `text`. */
export const contentText = (content: unknown): string => {
  if (typeof content === 'string') return content;
  const texts: string[] = [];
  for (const part of asList(content)) {
    if (isObject(part) && typeof part.text === 'string') texts.push(part.text);
  }
  return texts.join('\n');
};
