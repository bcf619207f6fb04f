import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Answered } from '../answered-in.ts';
import { type JsonObject, parseObject } from '../json-object.ts';
import type { Usage } from '../usage.ts';

/**
 * What a frame is to its caller: `delta` passes and has nothing but a piece of what the model wrote, `event` passes and
 * may have anything, `hidden` does not pass. `failed` reports a failure in a form that clients of the protocol do not
 * know: they get the protocol's own instead, and the stream is over.
 */
export type FrameKind = 'delta' | 'event' | 'hidden' | 'failed';

/**
 * Reads one stream of a protocol on its way to a caller of the same protocol: learns what it consumed and how it ended,
 * and can end it instead of its provider. Events that hold nothing of that are not parsed.
 */
export interface StreamReader {
  /** Chat: a chunk with deltas, where its server writes whole messages instead; else the chunk as it is. */
  asDeltas?(chunk: JsonObject): JsonObject;
  /**
   * Takes the next frame.
   *
   * @throws {UnreadableEvent} for data that no stream of this protocol holds
   */
  frame(frame: Frame): FrameKind;
  /** The provider's id of what is being generated; null until it is known. */
  readonly id: string | null;
  /** Who has answered, and why each answer has ended, in the provider's words. It may take work. */
  answered(): Answered;
  /** Null until the provider has reported it. */
  readonly usage: Usage | null;
  /** About how many characters of text, reasoning and arguments have come, for an estimate where usage is missing. It may take work. */
  readonly outputLength: number;
  /** Whether all of the answer has come; an end marker may be missing. */
  readonly ended: boolean;
  /** See `RelayedStream`. */
  readonly rest: 'wanted' | 'reporting' | 'ending' | 'read-off';
  /** The end marker that its caller has not got, where the upstream closes now; empty for none. */
  readonly owed: string;
  /** Whether a stream that is closed now was closed in time. */
  readonly mayEnd: boolean;
  /** What the provider itself reported as having failed, in words for our log. */
  readonly reportedFailure: string | null;
  /** The frames that end a stream which broke: after them the reply is over for every client of the protocol. */
  breakOff(error: GatewayError, requestId: string): readonly string[];
  /**
   * The members that the last event lacks of what came before it; null where it lacks nothing. Only in protocols whose last
   * event has the whole answer.
   */
  missingMembers?(answer: JsonObject, lastEvent: string): JsonObject | null;
  /** How many items have come in events of their own. */
  itemCount?(): number;
  /** The answer as an earlier event has shown it, for a last event that does not. */
  shown?(): JsonObject;
  /** A frame without content, for long silences; null while none may be sent. */
  keepAlive(): string | null;
}

/** The upstream sent something that is not of its protocol. */
export class UnreadableEvent extends Error {
  override readonly name = 'UnreadableEvent';
  constructor() {
    super('an event whose data is not JSON');
  }
}

/** The object that an event's data is; null for the `[DONE]` that ends a stream. @throws {UnreadableEvent} */
export function readEvent(data: string): JsonObject | null {
  if (data === END_MARK) return null;
  const event = parseObject(data);
  if (event === null) throw new UnreadableEvent();
  return event;
}

const ERROR_EVENT = /^event: ?error\r?\n/;
const ERROR_EVENT_BYTES = 'event: error\r\n'.length;

/** Whether a frame is named an error, for those whose data does not say so. */
export const isErrorEvent = ({ bytes, start }: Frame): boolean =>
  ERROR_EVENT.test(bytes.toString('latin1', start, start + ERROR_EVENT_BYTES));

const [BACKSLASH, ZERO, NINE] = [0x5c, 0x30, 0x39];

/**
 * Finds a JSON string in text that is not parsed: the index after `opening`, which ends in the string's quote, and the
 * index of its closing quote. Null where it is not there. A name in quotes cannot be inside a string, where quotes are
 * escaped.
 */
export function findString(text: string, opening: string): { start: number; end: number } | null {
  const at = text.indexOf(opening);
  if (at < 0) return null;
  const start = at + opening.length;
  const end = endOfString(text, start);
  return end < 0 ? null : { start, end };
}

/** Whether a text has another one at this index. Comparing a slice costs a third of `startsWith`. */
export const hasAt = (text: string, at: number, part: string): boolean =>
  text.slice(at, at + part.length) === part;

/** Where the JSON string that begins at `start` has its closing quote; -1 where it has none. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start);
  while (end > start && isEscaped(text, start, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, start: number, at: number): boolean {
  let first = at;
  while (first > start && text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

/** The whole number after a member's name, in text that is not parsed; null where there is none. */
export function numberAfter(text: string, opening: string): number | null {
  const at = text.indexOf(opening);
  if (at < 0) return null;
  const start = at + opening.length;
  const end = endOfDigits(text, start);
  return end === start ? null : Number(text.slice(start, end));
}

/** The index behind the digits that begin at `start`; `start` itself where there are none. */
export function endOfDigits(text: string, start: number): number {
  let end = start;
  while (isDigit(text.charCodeAt(end))) end += 1;
  return end;
}

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;
