import {
  createFrameReader,
  type Frame,
  type FrameReader,
  FrameTooLarge,
} from '@gateway/contracts/event-stream/frame-reader';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { isOver, type Output, type RelayedStream } from './relayed-stream.ts';

/** Passes the frame's bytes on unchanged. */
export const PASS = Symbol('pass');

/** What the events of one stream mean: the part of `RelayedStream` that differs from protocol to protocol. */
export interface EventMapper {
  /**
   * Takes the upstream's next frame. `PASS` sends its bytes on; text replaces it, empty text removes it.
   *
   * @throws for an event that cannot be read
   */
  frame(frame: Frame): typeof PASS | string;
  /** The upstream has closed: text that the caller is still owed, or the error that it closed too early. */
  end(): string | GatewayError;
  /** The frames that end the stream with this error; empty where an error event has gone out. */
  fail(error: GatewayError): string;
  /** What the upstream itself reported as failed. */
  readonly failure: GatewayError | null;
  readonly isWhole: boolean;
  readonly rest: RelayedStream['rest'];
  readonly id: string | null;
  keepAlive(): string | null;
  goOn?(): Promise<Reply | null> | null;
  /** Text that goes out after what the frames of this chunk became, when it is there; null where nothing is held. */
  takeHeld?(): Promise<string> | null;
}

interface EventStreamOptions {
  readonly mapper: EventMapper;
  readonly maxFrameBytes: number;
}

/** Makes a stream for `relayStream` out of what its events mean: the caller gets whole frames only. */
export const createEventStream = (options: EventStreamOptions): RelayedStream => new EventStream(options);

class EventStream implements RelayedStream {
  readonly #mapper: EventMapper;
  readonly #maxFrameBytes: number;
  #reader: FrameReader;
  #hasBegun = false;
  /** Whether nothing more of the upstream's stream can be read. */
  #isCut = false;
  /** The reason, if the caller had no whole answer by then. */
  #broken: GatewayError | null = null;

  constructor({ mapper, maxFrameBytes }: EventStreamOptions) {
    this.#mapper = mapper;
    this.#maxFrameBytes = maxFrameBytes;
    this.#reader = createFrameReader({ maxFrameBytes });
  }

  push(chunk: Buffer): Output | Promise<Output> {
    if (this.#isCut) return null;
    const joined = new JoinedOutput();
    try {
      for (const frame of this.#reader.push(chunk)) {
        joined.add(frame, this.#mapper.frame(frame));
        if (isOver(this.#mapper.rest)) break;
      }
    } catch (cause) {
      joined.addText(this.#break(unreadable(cause), joined));
    }
    return this.#given(joined);
  }

  end(): Output | Promise<Output> {
    const joined = new JoinedOutput();
    try {
      const last = this.#reader.end();
      if (last !== null && isWholeEvent(last.data)) joined.add(last, this.#mapper.frame(last));
      const owed = this.#mapper.end();
      joined.addText(typeof owed === 'string' ? owed : this.#break(owed, joined));
    } catch (cause) {
      joined.addText(this.#break(unreadable(cause), joined));
    }
    return this.#given(joined);
  }

  fail(error: GatewayError): string | Promise<string> {
    const text = this.#mapper.fail(error);
    const held = this.#mapper.takeHeld?.() ?? null;
    return held === null ? text : held.then((more) => text + more);
  }

  get failure(): GatewayError | null {
    return this.#broken ?? this.#mapper.failure;
  }

  get isWhole(): boolean {
    return this.#mapper.isWhole;
  }

  get rest(): RelayedStream['rest'] {
    return this.#isCut ? 'cancelled' : this.#mapper.rest;
  }

  get id(): string | null {
    return this.#mapper.id;
  }

  keepAlive(): string | null {
    return this.#mapper.keepAlive();
  }

  goOn(): Promise<Reply | null> | null {
    const continued = this.#mapper.goOn?.() ?? null;
    if (continued !== null) this.#reader = createFrameReader({ maxFrameBytes: this.#maxFrameBytes });
    return continued;
  }

  /** Before the first output an error can still be an HTTP error: then there is nothing to write. */
  #break(error: GatewayError, given: JoinedOutput): string {
    this.#isCut = true;
    if (this.#mapper.isWhole) return '';
    const ending = this.#hasBegun || !given.isEmpty ? this.#mapper.fail(error) : '';
    this.#broken = error;
    return ending;
  }

  #given(joined: JoinedOutput): Output | Promise<Output> {
    const held = this.#mapper.takeHeld?.() ?? null;
    if (held !== null || !joined.isEmpty) this.#hasBegun = true;
    if (held === null) return joined.output;
    return held.then((text) => {
      joined.addText(text);
      return joined.output;
    });
  }
}

/** Clients accept a last event without its empty line, but not half an event. */
function isWholeEvent(data: string | null): boolean {
  if (data === null || data === '[DONE]') return data !== null;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}

/** The output for one chunk's frames, as one piece. Neighbouring frames that pass keep their bytes. */
class JoinedOutput {
  #bytes: Buffer | null = null;
  #start = 0;
  #end = 0;
  #text = '';
  readonly #parts: Buffer[] = [];

  get isEmpty(): boolean {
    return this.#bytes === null && this.#text === '' && this.#parts.length === 0;
  }

  add({ bytes, start, end }: Frame, mapped: typeof PASS | string): void {
    if (mapped !== PASS) {
      this.addText(mapped);
      return;
    }
    this.#closeText();
    if (this.#bytes === bytes && this.#end === start) this.#end = end;
    else {
      this.#closeBytes();
      this.#bytes = bytes;
      this.#start = start;
      this.#end = end;
    }
  }

  addText(text: string): void {
    if (text === '') return;
    this.#closeBytes();
    this.#text += text;
  }

  get output(): Output {
    if (this.#parts.length === 0) {
      if (this.#bytes !== null) return this.#bytes.subarray(this.#start, this.#end);
      return this.#text === '' ? null : this.#text;
    }
    this.#closeBytes();
    this.#closeText();
    return Buffer.concat(this.#parts);
  }

  #closeBytes(): void {
    if (this.#bytes === null) return;
    this.#parts.push(this.#bytes.subarray(this.#start, this.#end));
    this.#bytes = null;
  }

  #closeText(): void {
    if (this.#text === '') return;
    this.#parts.push(Buffer.from(this.#text));
    this.#text = '';
  }
}

/** An error of a mapper means a fault of the upstream. The upstream's own words about it are better than ours. */
function unreadable(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  const message =
    cause instanceof FrameTooLarge
      ? 'The upstream sent an event that is too large to pass on.'
      : 'The upstream sent an event that cannot be read.';
  return new UnreadableReply(message, { cause });
}
