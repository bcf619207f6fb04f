import type { OutgoingHttpHeaders } from 'node:http';
import { eventDataOf } from '@gateway/contracts/event-stream/event-frame';
import type { Sent } from '@gateway/model-service/caller';
import { ForwardingCaller } from '@gateway/model-service/forwarding-caller';

/** A caller who gets the events of a stream as the entries of one JSON array, as Google's do who have not requested events. */
export class JsonArrayCaller extends ForwardingCaller {
  #isArray = false;
  #count = 0;

  override begin(status: number, headers: OutgoingHttpHeaders, isAtOnce?: boolean): void {
    if (this.hasBegun) return;
    this.#isArray = String(headers['content-type']).startsWith('text/event-stream');
    const shown = this.#isArray ? { ...headers, 'content-type': 'application/json' } : headers;
    this.caller.begin(status, shown, isAtOnce);
  }

  override send(output: Sent): boolean {
    const text = this.#written(output);
    return text.length === 0 ? !this.isFull : this.caller.send(text);
  }

  override end(output?: Sent): void {
    const last = output === undefined ? '' : this.#written(output);
    if (!this.#isArray) this.caller.end(output === undefined ? undefined : last);
    else this.caller.end(`${last.toString()}${this.#count === 0 ? '[' : ''}]`);
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
