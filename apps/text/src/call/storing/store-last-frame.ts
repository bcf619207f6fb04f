import { type EventFrame, eventDataOf } from '@gateway/contracts/event-stream/event-frame';
import { namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import { responseEndAfter } from '@gateway/contracts/event-stream/stream-events';
import { type JsonObject, objectAt, textAt } from '../../wire/json-object.ts';
import { isJsonObject, parseBody } from '../../wire/raw-json.ts';
import type { Amendment } from './store-response.ts';

/** Stores a response that has ended, and returns the members that its caller gets instead. */
export type StoreResponse = (response: JsonObject) => Promise<Amendment>;

type Frames = readonly EventFrame[];

/** How we write an event that may end a stream. */
const EVENT_NAME = /^event: (\S+)\n/;

/** Stores the response that the last event of our own shows; gives the frames with what is true of it. */
export function storeLastFrame(frames: Frames, store: StoreResponse): Frames | Promise<Frames> {
  const at = frames.findLastIndex(isEnd);
  const frame = frames[at];
  const event = frame === undefined ? null : parseBody(eventDataOf(frame) ?? '');
  const response = isJsonObject(event) ? objectAt(event, 'response') : null;
  if (!isJsonObject(event) || response === null) return frames;
  const type = textAt(event, 'type') ?? '';
  const amended = (amendment: Amendment) =>
    frames.with(at, namedFrame({ ...event, type, response: { ...response, ...amendment } }));
  return store(response).then((amendment) => (amendment === null ? frames : amended(amendment)));
}

const isEnd = (frame: EventFrame): boolean =>
  typeof frame === 'string' && responseEndAfter(EVENT_NAME.exec(frame)?.[1] ?? '') !== undefined;
