import { type EventFrame, eventDataOf } from '@gateway/contracts/event-stream/event-frame';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import type { Sent } from '@gateway/model-service/caller';
import type { EndedContent } from '@gateway/model-service/content-log/content-log';
import { isLarge } from '../../large/shared-bytes.ts';
import { isJsonObject, parseBody } from '../../wire/raw-json.ts';
import type { EventCollector } from '../../wire/stream/event-collector.ts';

const MEBIBYTE = 1024 * 1024;
/** What is held of an answer that is no stream, for the log: a longer one is not in it. */
const MAX_HELD_BYTES = 16 * MEBIBYTE;
/** Of a stream little is held beside its texts, which are some tenth of its events. */
const MAX_READ_CHARACTERS = 128 * MEBIBYTE;

type Answer = Pick<EndedContent, 'answer'> & { readonly isOverlong: boolean };

/** Gathers what a caller is sent, in its own protocol: a stream is put together as it passes. Never throws. */
export class GatheredAnswer {
  readonly #createCollector: () => EventCollector;
  #collector: EventCollector | null = null;
  #bytes: Buffer[] = [];
  /** An event that is too large to be read here: it has a whole response in it. */
  #large: Buffer | null = null;
  #heldLength = 0;
  #isOverlong = false;

  /** @param createCollector puts a stream of the caller's protocol together */
  constructor(createCollector: () => EventCollector) {
    this.#createCollector = createCollector;
  }

  take(sent: Sent): void {
    if (this.#isOverlong) return;
    if (typeof sent === 'string') this.#hold(Buffer.from(sent));
    else if (Buffer.isBuffer(sent)) this.#hold(sent);
    else for (const frame of sent) this.#event(frame);
  }

  whole(): Answer {
    const isOverlong = this.#isOverlong;
    if (this.#large !== null) return { answer: { json: this.#large, member: 'response' }, isOverlong };
    if (this.#bytes.length > 0)
      return { answer: isOverlong ? null : { json: Buffer.concat(this.#bytes) }, isOverlong };
    const body = this.#collected();
    return { answer: body === null ? null : { json: Buffer.from(body) }, isOverlong };
  }

  #event(frame: EventFrame): void {
    const data = eventDataOf(frame);
    if (data === null || data === END_MARK) return;
    if (!this.#mayHold(data.length, MAX_READ_CHARACTERS)) return;
    if (isLarge(data.length)) {
      this.#large = Buffer.from(data);
      return;
    }
    this.#collector ??= this.#createCollector();
    try {
      const event = parseBody(data);
      if (isJsonObject(event)) this.#collector.take(event, data);
    } catch {
      // What is no event of its protocol is no part of its answer.
    }
  }

  #hold(bytes: Buffer): void {
    if (this.#mayHold(bytes.length, MAX_HELD_BYTES)) this.#bytes.push(bytes);
  }

  #mayHold(length: number, most: number): boolean {
    this.#heldLength += length;
    this.#isOverlong ||= this.#heldLength > most;
    return !this.#isOverlong;
  }

  #collected(): string | null {
    try {
      const body = this.#collector?.body() ?? null;
      return body && JSON.stringify(body);
    } catch {
      return null;
    }
  }
}
