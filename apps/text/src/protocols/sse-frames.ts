import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** One frame: the event's name where the protocol has names, and one line of JSON. Always one string, so one write. */
export const namedFrame = (event: { readonly type: string; readonly [member: string]: unknown }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

export const dataFrame = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;

export const DONE_FRAME = 'data: [DONE]\n\n';

/** Shows a waiting client that the connection lives; every parser ignores it. */
export const COMMENT_FRAME = ': keepalive\n\n';

/** A single event beyond this many characters is no longer an answer but a mistake. */
const FRAME_LENGTH_MAX = 64 * 1024 * 1024;

export type SseMessage = Pick<EventSourceMessage, 'event' | 'data'>;

/** Thrown for bytes that cannot be an event stream. */
export class BrokenStream extends Error {
  override readonly name = 'BrokenStream';
}

/**
 * Reads events out of bytes that may be cut anywhere, also inside a character.
 * @throws BrokenStream from `push` where one event exceeds the bound
 */
export class SseReader {
  readonly #decoder = new TextDecoder('utf-8');
  #messages: SseMessage[] = [];
  readonly #parser;

  constructor(frameLengthMax = FRAME_LENGTH_MAX) {
    this.#parser = createParser({
      maxBufferSize: frameLengthMax,
      onEvent: (message) => this.#messages.push(message),
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw new BrokenStream('One event is too long.');
      },
    });
  }

  push(bytes: Uint8Array): SseMessage[] {
    return this.#feed(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Clients accept a last event without its blank line, and so do we. */
  end(): SseMessage[] {
    return this.#feed(`${this.#decoder.decode()}\n\n`);
  }

  #feed(text: string): SseMessage[] {
    this.#messages = [];
    this.#parser.feed(text);
    return this.#messages;
  }
}
