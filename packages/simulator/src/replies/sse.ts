import type { JsonObject } from '../json-value.ts';

/** One event with its name, in the framing of the Responses, Messages and Images streams. */
export const eventFrame = (type: string, data: JsonObject): string =>
  `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

/** One event without a name, in the framing of Chat Completions and the audio streams. */
export const dataFrame = (data: JsonObject): string => `data: ${JSON.stringify(data)}\n\n`;

export const DONE_FRAME = 'data: [DONE]\n\n';
