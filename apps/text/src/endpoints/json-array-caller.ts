import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { eventDataOf } from '@gateway/contracts/event-stream/event-frame';
import type { Caller, Sent } from '@gateway/model-service/caller';

/** A caller who gets the events of a stream as the entries of one JSON array, as Google's do who have not requested events. */
export class JsonArrayCaller implements Caller {
  readonly #caller: Caller;
  #isArray = false;
  #count = 0;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  get headers(): IncomingHttpHeaders {
    return this.#caller.headers;
  }

  get url(): string {
    return this.#caller.url;
  }

  get hasBegun(): boolean {
    return this.#caller.hasBegun;
  }

  get isGone(): boolean {
    return this.#caller.isGone;
  }

  get hasEnded(): boolean {
    return this.#caller.hasEnded;
  }

  get isFull(): boolean {
    return this.#caller.isFull;
  }

  note(name: string, value: string): void {
    this.#caller.note(name, value);
  }

  begin(status: number, headers: OutgoingHttpHeaders, isAtOnce?: boolean): void {
    if (this.hasBegun) return;
    this.#isArray = String(headers['content-type']).startsWith('text/event-stream');
    const shown = this.#isArray ? { ...headers, 'content-type': 'application/json' } : headers;
    this.#caller.begin(status, shown, isAtOnce);
  }

  send(output: Sent): boolean {
    const text = this.#written(output);
    return text.length === 0 ? !this.isFull : this.#caller.send(text);
  }

  end(output?: Sent): void {
    const last = output === undefined ? '' : this.#written(output);
    if (!this.#isArray) this.#caller.end(output === undefined ? undefined : last);
    else this.#caller.end(`${last.toString()}${this.#count === 0 ? '[' : ''}]`);
  }

  breakOff(): void {
    this.#caller.breakOff();
  }

  onTaken(listener: () => void): () => void {
    return this.#caller.onTaken(listener);
  }

  onClosed(listener: () => void): void {
    this.#caller.onClosed(listener);
  }

  /** Frames as entries: their data, or the error that ends a stream, which is no event. Comments have none. */
  #written(output: Sent): Buffer | string {
    if (!this.#isArray || Buffer.isBuffer(output) || typeof output === 'string') return entriesOnly(output);
    return output
      .flatMap((frame) => {
        const data = typeof frame === 'string' && frame.startsWith('{') ? frame : eventDataOf(frame);
        if (data === null) return [];
        this.#count += 1;
        return [`${this.#count === 1 ? '[' : ',\r\n'}${data}`];
      })
      .join('');
  }
}

const entriesOnly = (output: Sent): Buffer | string =>
  Buffer.isBuffer(output) || typeof output === 'string' ? output : '';
