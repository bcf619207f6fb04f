import { ID_PREFIXES } from '../stored/conversations/window-nodes.ts';
import { objectOf, textAt } from '../wire/json-object.ts';
import { newId } from '../wire/tokens/new-id.ts';
import type { ConversationItem } from './kept-conversations.ts';

/** An item with an id of its own: the one that it brings, or a new one. */
export function keptItem(value: unknown): ConversationItem {
  const item = objectOf(value);
  return { id: textAt(item, 'id') || newItemId(item.type), json: JSON.stringify(value) };
}

/** A new id for an item of this type; what has no type is a message. */
export const newItemId = (type: unknown): string =>
  newId(ID_PREFIXES.get(typeof type === 'string' ? type : 'message') ?? 'item_');
