import { z } from 'zod';
import { type JsonObject, objectOf, textAt } from '../wire/json-object.ts';
import { isJsonObject } from '../wire/raw-json.ts';
import { IdOrigin } from './origins/id-origins.ts';
import type { StoredItem } from './store/conversation-store.ts';
import { parseItem } from './store/item-json.ts';
import type { NewItem } from './store/window-nodes.ts';

/** Where a stored response was made. */
export const ResponseOrigin = IdOrigin.extend({
  /** Its provider stores it too, under the same id. */
  isProviders: z.boolean(),
  /** The session that responses which continue it have, where their callers name none. Absent in records from before December 2026. */
  session: z.string().optional(),
});
export type ResponseOrigin = z.infer<typeof ResponseOrigin>;

/** No member of a response has a colon in its name. */
const ORIGIN = 'gateway:origin';

/** What is stored of a response beside its items. */
export function dataOf(response: JsonObject, origin: ResponseOrigin): JsonObject {
  const { output: _, ...rest } = response;
  return { ...rest, [ORIGIN]: origin };
}

/** Where a response was made, by what is stored of it. */
export const originIn = (data: JsonObject): ResponseOrigin => ResponseOrigin.parse(data[ORIGIN]);

/** The response as it was, by what is stored of it. */
export function responseOf(data: JsonObject, output: readonly StoredItem[]): JsonObject {
  const { [ORIGIN]: _, ...response } = data;
  return { ...response, output: output.map(({ json }) => parseItem(json)) };
}

const UNDER_WAY = new Set<unknown>(['queued', 'in_progress']);

/** Whether what is stored of a response is its end. */
export const isFinal = (data: JsonObject): boolean => !UNDER_WAY.has(data.status);

/** The output of a whole response as items to keep; `maker` names who wrote it. */
export const outputItems = ({ output }: JsonObject, maker: string): readonly NewItem[] =>
  (Array.isArray(output) ? output : []).map((item: unknown) => ({
    id: textAt(objectOf(item), 'id'),
    json: JSON.stringify(item),
    maker,
  }));

/** Whether an item of an input refers to a stored one. */
export const isReference = (item: unknown): item is { readonly id: string } =>
  isJsonObject(item) &&
  typeof item.id === 'string' &&
  (item.type === 'item_reference' ||
    ((item.type ?? null) === null && !('role' in item) && !('content' in item)));

/**
 * A request's own input as items to keep, with the items that it refers to instead of its references.
 * @param body parsed with `parseBody`
 */
export function inputItems(body: unknown, referred: ReadonlyMap<string, StoredItem>): readonly NewItem[] {
  const input = isJsonObject(body) ? body.input : undefined;
  if (typeof input === 'string') {
    const content = [{ type: 'input_text', text: input }];
    return [{ id: null, json: JSON.stringify({ type: 'message', role: 'user', content }) }];
  }
  return (Array.isArray(input) ? input : []).map((item: unknown) => {
    const kept = isReference(item) ? referred.get(item.id) : undefined;
    return kept ?? { id: textAt(objectOf(item), 'id'), json: JSON.stringify(item) };
  });
}
