import type { JsonObject } from './json-value.ts';

/** One event with its name, as the Responses, Messages and Images streams frame it. */
export const eventFrame = (type: string, data: JsonObject): string =>
  `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

/** One event without a name, as Chat Completions and the audio streams frame it. */
export const dataFrame = (data: JsonObject): string => `data: ${JSON.stringify(data)}\n\n`;

export const DONE_FRAME = 'data: [DONE]\n\n';
