import type { Frame } from './frame-reader.ts';
import { END_MARK, STREAM_EVENTS } from './stream-events.ts';

/** Names under which a protocol says something: what cannot be read there has been lost. */
const PROTOCOL_EVENT = /^(?:message|error|response|content_block|chat)/;
const EVENT_LINE = /^event: ?(\S+)/m;
const DATA_LINE = /^data:/m;

/** The name of its event line; null where it has none. */
export const eventNameOf = ({ latin1 }: Frame): string | null => EVENT_LINE.exec(latin1)?.[1] ?? null;

/** What a frame says; null where it says nothing of an answer. */
export function dataOf(frame: Frame): string | null {
  const { data } = frame;
  if (data === null) return null;
  if (!data.startsWith('{')) {
    if (isAside(frame, data)) return null;
    if (isEndMark(data)) return END_MARK;
  }
  return typedData(frame, data) ?? data;
}

/** What servers write for the mark that ends a stream. */
const END_MARKS = /^\s*(?:\[done\]|done)\s*$/i;

export const isEndMark = (data: string): boolean => END_MARKS.test(data);

/** How an event begins as its provider writes it. */
const TYPED = '{"type"';
/** Events whose data has their name as well. */
const TYPED_EVENT =
  /^(?:id:[^\n]*\n)?event: ?((?:response\.|message_|content_block_|image_|speech\.|transcript\.)[\w.]+)/;
const OPENING = /^\s*\{\s*/;
/** Some servers end every response with it; how it has ended is in the response. */
const DONE = /^\{"type" ?: ?"response\.done"/;

/** The data of an event whose server names it in a way of its own, or gives it no type; null for any other. */
export function typedData(frame: Frame, data = frame.data): string | null {
  if (data === null) return null;
  if (data.startsWith(TYPED)) return DONE.test(data) ? data.replace(DONE, `${TYPED}:"${endOf(data)}"`) : null;
  const name = OPENING.test(data) ? TYPED_EVENT.exec(frame.latin1)?.[1] : undefined;
  if (name === undefined || data.includes(`"${name}"`)) return null;
  const rest = data.replace(OPENING, '');
  const typed = `${TYPED}:"${name}"${rest.startsWith('}') ? '' : ','}${rest}`;
  return typedData(frame, typed) ?? typed;
}

const UNNAMED = /^data:/;
const TYPE_MEMBER = /^\s*\{\s*"type"\s*:\s*"([\w.]+)"/;

/** The name of an event whose server writes none, by its type; null for any other. */
export function missingName({ latin1, data }: Frame): string | null {
  if (data === null || !UNNAMED.test(latin1)) return null;
  return TYPE_MEMBER.exec(data)?.[1] ?? null;
}

const STATUS_END: ReadonlyMap<unknown, string> = new Map(
  Object.entries(STREAM_EVENTS.responses.end).map(([event, status]) => [status, event]),
);

/** The event that ends a response of this status. */
function endOf(data: string): string {
  try {
    const { response } = Object(JSON.parse(data));
    const status = Object(response).status === 'cancelled' ? 'failed' : Object(response).status;
    return STATUS_END.get(status) ?? 'response.completed';
  } catch {
    return 'response.completed';
  }
}

/** Blanks, `null`, and what servers and proxies send under a name of their own to keep a connection open (`event: ping`, `data: pong`). */
function isAside(frame: Frame, data: string): boolean {
  const said = data.trim();
  if (said === '' || said === 'null') return true;
  if (said === END_MARK || said.startsWith('{')) return false;
  const name = eventNameOf(frame);
  return name !== null && !PROTOCOL_EVENT.test(name);
}

/** Whether a frame that says nothing has data all the same: clients that parse all data throw at it, and comments reach nobody. */
export const hasEmptyData = ({ latin1 }: Frame): boolean => DATA_LINE.test(latin1);
