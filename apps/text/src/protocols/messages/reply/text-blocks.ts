import { isJsonObject } from '../../../wire/raw-json.ts';

/** A text as the content of a message. */
const textBlocks = (text: string) => [{ type: 'text', text, citations: null }];

/** A message whose server writes its content as a text, or as one block, with blocks; any other is returned as it is. */
export function withBlocks(message: unknown): unknown {
  if (!isJsonObject(message)) return message;
  const { content } = message;
  if (typeof content === 'string') return { ...message, content: textBlocks(content) };
  return isJsonObject(content) ? { ...message, content: [content] } : message;
}
