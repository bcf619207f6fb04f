import { namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import { type JsonObject, objectAt } from '../../wire/json-object.ts';
import { isJsonObject, parseBody } from '../../wire/raw-json.ts';
import type { Amendment } from './store-response.ts';

/** Stores a response that has ended, and returns the members that its caller gets instead. */
export type StoreResponse = (response: JsonObject) => Promise<Amendment>;

/**
 * The event that ends a stream of ours, in the form in which we write it. JSON may hold U+2028 and U+2029 unescaped; `.` does
 * not match them, and they end no line of an event stream.
 */
const LAST_FRAME = /(?:^|\n\n)(event: (response\.(?:completed|incomplete|failed))\ndata: ([^\n]*)\n\n)/;

/** Stores the response that the last event of these frames shows; gives the frames with what is true of it. */
export function storeLastFrame(frames: string, store: StoreResponse): string | Promise<string> {
  const [, frame = '', type = '', data = ''] = LAST_FRAME.exec(frames) ?? [];
  const event = frame === '' ? null : parseBody(data);
  const response = isJsonObject(event) ? objectAt(event, 'response') : null;
  if (!isJsonObject(event) || response === null) return frames;
  const amended = (amendment: Amendment) =>
    frames.replace(frame, () => namedFrame({ ...event, type, response: { ...response, ...amendment } }));
  return store(response).then((amendment) => (amendment === null ? frames : amended(amendment)));
}
