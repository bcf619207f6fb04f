import { isJsonObject } from '../../../wire/raw-json.ts';

/** A text as the content of a message. */
export const textBlocks = (text: string) => [{ type: 'text', text, citations: null }];

/** A message whose server writes its content as a text, with blocks; any other is returned as it is. */
export const withBlocks = (message: unknown): unknown =>
  isJsonObject(message) && typeof message.content === 'string'
    ? { ...message, content: textBlocks(message.content) }
    : message;
