import { z } from 'zod';
import { characterCount, nested, type Problem, problem } from '../wire-types.ts';
import { isMessage, MessageItem } from './responses.ts';

/** The most items that one request may add. */
const MAX_ADDED_ITEMS = 20;

const MAX_METADATA_PAIRS = 16;
const MAX_KEY_CHARACTERS = 64;
const MAX_VALUE_CHARACTERS = 512;

const Metadata = z.record(z.string(), z.string()).superRefine((metadata, context) => {
  const pairs = Object.entries(metadata);
  if (pairs.length > MAX_METADATA_PAIRS)
    context.addIssue(tooLong([], `at most ${MAX_METADATA_PAIRS} pairs`, 'invalid_value'));
  for (const [key, value] of pairs) {
    if (characterCount(key) > MAX_KEY_CHARACTERS)
      context.addIssue(
        tooLong([], `keys of at most ${MAX_KEY_CHARACTERS} characters`, 'string_above_max_length'),
      );
    else if (characterCount(value) > MAX_VALUE_CHARACTERS)
      context.addIssue(
        tooLong([key], `values of at most ${MAX_VALUE_CHARACTERS} characters`, 'string_above_max_length'),
      );
  }
});

const tooLong = (path: readonly string[], bound: string, code: Problem['code']) => {
  const text = `metadata is too long. It takes ${bound}.`;
  return problem(path, { code, openai: text, anthropic: text });
};

const Item = z.looseObject({ type: z.string().nullish() });

const Items = z.array(Item).max(MAX_ADDED_ITEMS);

function checkItems(items: readonly z.infer<typeof Item>[], context: z.RefinementCtx): void {
  for (const [index, item] of items.entries())
    if (isMessage(item)) nested(MessageItem, ['items', index], item, context);
}

/** A request of `POST /v1/conversations`. `null` means absent. */
export const ConversationRequest = z
  .looseObject({ items: Items.nullish(), metadata: Metadata.nullish() })
  .superRefine(({ items }, context) => checkItems(items ?? [], context));
export type ConversationRequest = z.infer<typeof ConversationRequest>;

/** A request of `POST /v1/conversations/{id}`: the metadata that replaces the old one. */
export const ConversationUpdate = z.looseObject({ metadata: Metadata.nullable() });
export type ConversationUpdate = z.infer<typeof ConversationUpdate>;

/** A request of `POST /v1/conversations/{id}/items`. */
export const ConversationItemsRequest = z
  .looseObject({ items: Items.min(1) })
  .superRefine(({ items }, context) => checkItems(items, context));
export type ConversationItemsRequest = z.infer<typeof ConversationItemsRequest>;
