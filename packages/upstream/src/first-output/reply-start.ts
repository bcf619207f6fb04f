import type { IncomingHttpHeaders } from 'node:http';
import { awsEventsToText, isAwsEventStream } from '../aws-events/aws-events.ts';
import type { Protocol } from '../protocol.ts';
import type { ReplyBody } from '../replies/reply-body.ts';
import type { OutputCheck, Verdict } from './check-first-output.ts';
import { type HeldStart, holdStart } from './held-start.ts';
import { textRepair } from './text-repair.ts';
import { asEvents, trulyTyped } from './true-type.ts';

/** The most bytes read of an error's body, or of an output that cannot be checked yet. */
export const MAX_CHECKED_BYTES = 65_536;
/** The most bytes of start events that are held back: a response repeats the instructions and tools of its request. */
const MAX_HELD_BYTES = 1_048_576;
/** The most bytes of a reply that is checked whole. */
const MAX_WHOLE_BYTES = 64 * 1_048_576;

interface ReplyStartOptions {
  readonly protocol: Protocol;
  readonly checkOutput: OutputCheck;
  /** Start events of a stream wait for the first output; see `SendOptions`. */
  readonly holdsStart: boolean;
  /** Whether a stream was requested. */
  readonly streamed: boolean;
}

/** The beginning of a 2xx reply, which waits in its body until it is known whether it is an answer. */
export class ReplyStart {
  readonly #options: ReplyStartOptions;
  readonly #status: number;
  /** With the type that the content has, once enough of it has come. */
  headers: IncomingHttpHeaders;
  /** Its type is known, and its bytes are read as they have to be. */
  #isTyped = false;
  /** Reads the start of a stream whose start events are held back. */
  #held: HeldStart | null = null;
  /** The check has no verdict before the reply has ended. */
  #waitsForEnd = false;
  #maxBytes = MAX_CHECKED_BYTES;

  constructor(status: number, headers: IncomingHttpHeaders, options: ReplyStartOptions) {
    this.#status = status;
    this.headers = headers;
    this.#options = options;
  }

  /** Whether it is a stream whose first output can be recognised. */
  get isHeld(): boolean {
    return this.#held !== null;
  }

  /** Whether a start event has arrived: the provider has taken the request. */
  get hasBegun(): boolean {
    return this.#held?.hasBegun ?? false;
  }

  /** Checks what has arrived; null: the reply has ended. */
  check(body: ReplyBody, chunk: Buffer | null): Exclude<Verdict, 'wait-for-end'> {
    const verdict = this.#verdict(body, chunk);
    if (verdict === 'wait-for-end') {
      this.#waitsForEnd = true;
      this.#maxBytes = MAX_WHOLE_BYTES;
    } else if (verdict !== 'wait') return verdict;
    return chunk !== null && body.waitingBytes < this.#maxBytes ? 'wait' : 'accept';
  }

  #verdict(body: ReplyBody, chunk: Buffer | null): Verdict {
    if (!this.#isTyped) return this.#firstVerdict(body, chunk === null);
    if (this.#held !== null) return chunk === null ? this.#held.end() : this.#held.push(chunk);
    if (this.#waitsForEnd && chunk !== null) return 'wait-for-end';
    const { headers } = this;
    return this.#options.checkOutput({
      status: this.#status,
      headers,
      bytes: body.peek(),
      ended: chunk === null,
    });
  }

  /** Finds out what kind of reply it is, and checks what of it has arrived. */
  #firstVerdict(body: ReplyBody, ended: boolean): Verdict {
    const received = body.peek();
    const { holdsStart, protocol, streamed } = this.#options;
    const isBinary = isAwsEventStream(this.headers);
    const headers = isBinary ? asEvents(this.headers) : trulyTyped(this.headers, received, ended, streamed);
    if (headers === null) return 'wait';
    const repair = isBinary ? awsEventsToText(protocol) : textRepair(headers, received, ended);
    if (repair === 'wait') return 'wait';
    if (repair !== null) body.repair(repair);
    const bytes = body.peek();
    this.#isTyped = true;
    this.headers = headers;
    if (holdsStart) this.#held = holdStart(protocol, headers);
    if (this.#held === null) return this.#verdict(body, ended ? null : bytes);
    this.#maxBytes = MAX_HELD_BYTES;
    const verdict = this.#held.push(bytes);
    return ended && verdict === 'wait' ? this.#held.end() : verdict;
  }
}
