import { z } from 'zod';
import { nested } from '../wire-types.ts';
import { Metadata } from './metadata.ts';
import { isMessage, MessageItem } from './responses.ts';

/** The most items that one request may add. */
const MAX_ADDED_ITEMS = 20;

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
