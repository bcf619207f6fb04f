/** One frame: the event's name where the protocol has names, and one line of JSON. */
export const namedFrame = (event: { readonly type: string; readonly [member: string]: unknown }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

export const dataFrame = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;

export const DONE_FRAME = 'data: [DONE]\n\n';

export { COMMENT_FRAME } from '@gateway/model-service/stream/waiting-caller';
