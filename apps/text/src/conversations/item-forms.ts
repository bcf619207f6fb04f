import { isObject, type JsonObject, textAt } from '../wire/json-object.ts';
import { newId } from '../wire/new-id.ts';
import { parseBody } from '../wire/raw-json.ts';
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

const typeOf = (item: JsonObject): string => textAt(item, 'type') ?? 'message';

/** An item of a request with an id of its own: the one that it brings, or a new one. */
export function keptItem(item: JsonObject): ConversationItem {
  const given = textAt(item, 'id');
  const id = given === null || given === '' ? newId(PREFIXES.get(typeOf(item)) ?? 'item_') : given;
  return { id, json: JSON.stringify(item) };
}

/** An object with nothing but an `id` is a reference too. */
export const isReference = (item: JsonObject): boolean =>
  item.type === 'item_reference' ||
  ((item.type ?? null) === null && !('role' in item) && !('content' in item));

/** An input as its items; a text is a user's message. */
export const inputItems = (input: unknown): readonly JsonObject[] => {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return Array.isArray(input) ? input.filter(isObject) : [];
};

/** An item as lists show it: with its id, and a message with its type, its status and its content in parts. */
export function shownItem({ id, json }: { readonly id: string; readonly json: string }): JsonObject {
  const parsed = parseBody(json);
  const item = isObject(parsed) ? parsed : {};
  if (typeOf(item) !== 'message') return { ...item, id };
  const { role, content } = item;
  return {
    ...item,
    id,
    type: 'message',
    status: item.status ?? 'completed',
    role,
    content: typeof content === 'string' ? [textPart(role, content)] : content,
  };
}

const textPart = (role: unknown, text: string): JsonObject =>
  role === 'assistant'
    ? { type: 'output_text', text, annotations: [], logprobs: [] }
    : { type: 'input_text', text };
