import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { type EventFrame, joinFrames } from '@gateway/contracts/event-stream/event-frame';

/** What a caller is sent: events, or the bytes or the text of what is no event stream. */
export type Sent = readonly EventFrame[] | Buffer | string;

/** Who sends a request and gets its answer, whatever carries them. */
export interface Caller {
  readonly headers: IncomingHttpHeaders;
  /** The path of its request, with its query. */
  readonly url: string;
  /** Whether it has the head of its answer: then no error can be the answer. */
  readonly hasBegun: boolean;
  /** Whether it has left, or its answer was broken off. */
  readonly isGone: boolean;
  /** Whether it was sent its whole answer. */
  readonly hasEnded: boolean;
  /** Whether it has yet to take what it was sent. */
  readonly isFull: boolean;
  /** Adds a header to the head, unless that has been sent. */
  note(name: string, value: string): void;
  /** Sends the head of its answer, unless it has one. @param isAtOnce there is no output yet */
  begin(status: number, headers: OutgoingHttpHeaders, isAtOnce?: boolean): void;
  /** False: it takes less than it is sent. `onTaken` tells when it has taken all. */
  send(output: Sent): boolean;
  end(output?: Sent): void;
  /** Ends an answer so that nobody takes it for a whole one. One that has ended stays. */
  breakOff(): void;
  /** Calls back whenever it has taken all that it was sent. Returns what stops that. */
  onTaken(listener: () => void): () => void;
  /** Calls back when its answer is over, however it ended; at once where it is. */
  onClosed(listener: () => void): void;
}

/** A caller over HTTP. */
export class HttpCaller implements Caller {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get headers(): IncomingHttpHeaders {
    return this.#response.req.headers;
  }

  get url(): string {
    return this.#response.req.url ?? '';
  }

  get hasBegun(): boolean {
    return this.#response.headersSent;
  }

  get isGone(): boolean {
    return this.#response.destroyed;
  }

  get hasEnded(): boolean {
    return this.#response.writableEnded;
  }

  get isFull(): boolean {
    return this.#response.writableNeedDrain;
  }

  note(name: string, value: string): void {
    if (!this.#response.headersSent) this.#response.setHeader(name, value);
  }

  begin(status: number, headers: OutgoingHttpHeaders, isAtOnce = false): void {
    if (this.#response.headersSent) return;
    this.#response.writeHead(status, headers);
    if (isAtOnce) this.#response.flushHeaders();
  }

  send(output: Sent): boolean {
    return this.hasEnded || this.#response.write(written(output));
  }

  end(output?: Sent): void {
    if (!this.hasEnded) this.#response.end(output && written(output));
  }

  breakOff(): void {
    if (!this.hasEnded) this.#response.destroy();
  }

  onTaken(listener: () => void): () => void {
    this.#response.on('drain', listener);
    return () => void this.#response.off('drain', listener);
  }

  onClosed(listener: () => void): void {
    if (this.#response.closed) listener();
    else this.#response.once('close', listener);
  }
}

const written = (output: Sent): Buffer | string =>
  typeof output === 'string' || Buffer.isBuffer(output) ? output : joinFrames(output);
