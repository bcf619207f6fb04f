import { END_MARK } from './stream-events.ts';

/** Whether a reply calls itself an event stream. */
export const isEventStream = (headers: { readonly 'content-type'?: string | undefined }): boolean =>
  headers['content-type']?.startsWith('text/event-stream') ?? false;

/** One frame: the event's name, and one line of JSON. */
export const eventFrame = (name: string, data: unknown): string =>
  `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** The same for an event whose data has its name. */
export const namedFrame = (event: { readonly type: string; readonly [member: string]: unknown }): string =>
  eventFrame(event.type, event);

/** One frame of a protocol without names. */
export const dataFrame = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;

export const DONE_FRAME = `data: ${END_MARK}\n\n`;

/** A comment, which readers of event streams skip. */
export const COMMENT_FRAME = ': keepalive\n\n';

/** Ends no event, as none has begun. Google's JavaScript client below 2.0, which Gemini CLI 0.61 has, reads nothing after a comment. */
export const BLANK_LINE = '\n';
