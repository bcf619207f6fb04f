import type { JsonObject } from '../json-value.ts';
import type { LedgerEntry } from '../ledger.ts';

export type Chunk = string | Uint8Array;

/** AWS' binary events. */
export const EVENT_STREAM = 'application/vnd.amazon.eventstream';

/** A handler's answer; the sender writes it, with the fault of the directives. */
export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Written one by one; each is one event of a stream. A whole body is one chunk with its length declared. */
  readonly chunks: Iterable<Chunk>;
  readonly isStream: boolean;
  /** The frames of the protocol's error event, given what has been streamed so far. */
  readonly errorFrames?: () => readonly Chunk[];
  /** Added to the ledger when the reply has been sent completely. */
  readonly ledger?: LedgerEntry;
  /** Called when the reply is over, completely sent or not. */
  readonly onEnd?: (complete: boolean) => void;
}

export const jsonReply = (body: unknown, ledger?: LedgerEntry): Reply => ({
  status: 200,
  contentType: 'application/json',
  chunks: [JSON.stringify(body)],
  isStream: false,
  ...(ledger && { ledger }),
});

export const streamReply = (
  chunks: Iterable<Chunk>,
  more: Pick<Reply, 'errorFrames' | 'ledger' | 'onEnd' | 'headers'> = {},
): Reply => ({
  status: 200,
  contentType: 'text/event-stream; charset=utf-8',
  isStream: true,
  chunks,
  ...more,
});

/** One event with its name, in the framing of the Responses, Messages and Images streams. */
export const eventFrame = (type: string, data: JsonObject): string =>
  `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

/** One event without a name, in the framing of Chat Completions and the audio streams. */
export const dataFrame = (data: JsonObject): string => `data: ${JSON.stringify(data)}\n\n`;

export const DONE_FRAME = 'data: [DONE]\n\n';
