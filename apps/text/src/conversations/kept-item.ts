import { objectOf, textAt } from '../wire/json-object.ts';
import { newId } from '../wire/new-id.ts';
import type { ConversationItem } from './kept-conversations.ts';

/** How ids begin, by the type of what they name. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['message', 'msg_'],
  ['function_call', 'fc_'],
  ['function_call_output', 'fco_'],
  ['custom_tool_call', 'ctc_'],
  ['custom_tool_call_output', 'ctco_'],
  ['reasoning', 'rs_'],
  ['compaction', 'cmp_'],
]);

/** An item with an id of its own: the one that it brings, or a new one. */
export function keptItem(value: unknown): ConversationItem {
  const item = objectOf(value);
  return { id: textAt(item, 'id') || newItemId(item.type), json: JSON.stringify(value) };
}

/** A new id for an item of this type; what has no type is a message. */
export const newItemId = (type: unknown): string =>
  newId(PREFIXES.get(typeof type === 'string' ? type : 'message') ?? 'item_');
