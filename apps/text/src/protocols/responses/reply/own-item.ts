import { isObject, type JsonObject } from '../../../wire/json-object.ts';

/** Whether an item of a response stands in another form than its protocol's: a content that is a text or one part, arguments that are an object. */
export const isOddItem = (item: unknown): item is JsonObject =>
  isObject(item) && (hasBareContent(item) || hasObject(item));

const hasBareContent = ({ type, content }: JsonObject): boolean =>
  type === 'message' && (typeof content === 'string' || isObject(content));

const hasObject = ({ type, arguments: given }: JsonObject): boolean =>
  type === 'function_call' && isObject(given);

/** Such an item as its protocol has it; any other is returned as it is. It is parsed with `parseBody`. */
export function ownItem(item: JsonObject): JsonObject {
  if (hasObject(item)) return { ...item, arguments: JSON.stringify(item.arguments) };
  if (!hasBareContent(item)) return item;
  const { content } = item;
  const part = isObject(content)
    ? content
    : { type: 'output_text', text: content, annotations: [], logprobs: [] };
  return { ...item, content: [part] };
}
