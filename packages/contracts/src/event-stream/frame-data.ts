import type { Frame } from './frame-reader.ts';
import { END_MARK } from './stream-events.ts';

/** Names under which a protocol says something: what cannot be read there has been lost. */
const PROTOCOL_EVENT = /^(?:message|error|response|content_block|chat)/;
const EVENT_LINE = /^event: ?(\S+)/m;
const DATA_LINE = /^data:/m;

/** The name of its event line; null where it has none. */
export const eventNameOf = ({ latin1 }: Frame): string | null => EVENT_LINE.exec(latin1)?.[1] ?? null;

/** What a frame says; null where it says nothing of an answer. */
export function dataOf(frame: Frame): string | null {
  const { data } = frame;
  return data === null || data.startsWith('{') || !isAside(frame, data) ? data : null;
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
