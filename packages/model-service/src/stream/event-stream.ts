import type { EventFrame } from '@gateway/contracts/event-stream/event-frame';
import {
  createFrameReader,
  type Frame,
  type FrameReader,
  FrameTooLarge,
} from '@gateway/contracts/event-stream/frame-reader';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { isOver, type Output, type RelayedStream } from './relayed-stream.ts';

/** Passes the frame's bytes on unchanged. */
export const PASS = Symbol('pass');

/** What the events of one stream mean: the part of `RelayedStream` that differs from protocol to protocol. */
export interface EventMapper {
  /**
   * Takes the upstream's next frame. `PASS` sends its bytes on; others replace it, and none removes it.
   *
   * @throws for an event that cannot be read
   */
  frame(frame: Frame): typeof PASS | readonly EventFrame[];
  /** The upstream has closed: frames that the caller is still owed, or the error that it closed too early. */
  end(): readonly EventFrame[] | GatewayError;
  /** The frames that end the stream with this error; none where an error event has gone out. */
  fail(error: GatewayError): readonly EventFrame[];
  /** What the upstream itself reported as failed. */
  readonly failure: GatewayError | null;
  readonly isWhole: boolean;
  readonly rest: RelayedStream['rest'];
  readonly id: string | null;
  keepAlive(): string | null;
  goOn?(): Promise<Reply | null> | null;
  /** Frames that go out after what the frames of this chunk became, when they are there; null where nothing is held. */
  takeHeld?(): Promise<readonly EventFrame[]> | null;
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
    const given = new GivenFrames();
    try {
      given.came = this.#reader.push(chunk);
      for (const frame of given.came) {
        given.add(frame, this.#mapper.frame(frame));
        if (isOver(this.#mapper.rest)) break;
      }
    } catch (cause) {
      given.addAll(this.#break(unreadable(cause), given));
    }
    return this.#given(given.frames);
  }

  end(): Output | Promise<Output> {
    const given = new GivenFrames();
    try {
      const last = this.#reader.end();
      if (last !== null && isWholeEvent(last.data)) {
        given.came = [last];
        given.add(last, this.#mapper.frame(last));
      }
      const owed = this.#mapper.end();
      given.addAll(owed instanceof GatewayError ? this.#break(owed, given) : owed);
    } catch (cause) {
      given.addAll(this.#break(unreadable(cause), given));
    }
    return this.#given(given.frames);
  }

  fail(error: GatewayError): readonly EventFrame[] | Promise<readonly EventFrame[]> {
    const frames = this.#mapper.fail(error);
    const held = this.#mapper.takeHeld?.() ?? null;
    return held === null ? frames : held.then((more) => [...frames, ...more]);
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
  #break(error: GatewayError, given: GivenFrames): readonly EventFrame[] {
    this.#isCut = true;
    if (this.#mapper.isWhole) return [];
    const ending = this.#hasBegun || given.frames.length > 0 ? this.#mapper.fail(error) : [];
    this.#broken = error;
    return ending;
  }

  #given(given: readonly EventFrame[]): Output | Promise<Output> {
    const held = this.#mapper.takeHeld?.() ?? null;
    if (held !== null || given.length > 0) this.#hasBegun = true;
    return held === null ? given : held.then((more) => [...given, ...more]);
  }
}

/** Clients accept a last event without its empty line, but not half an event. */
function isWholeEvent(data: string | null): boolean {
  if (data === null || data === END_MARK) return data !== null;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}

/** What a caller is given of the frames that came: where all of them pass, the very list of them. */
class GivenFrames {
  came: readonly Frame[] = [];
  #passed = 0;
  #own: EventFrame[] | null = null;

  get frames(): readonly EventFrame[] {
    return this.#own ?? (this.#passed === this.came.length ? this.came : this.came.slice(0, this.#passed));
  }

  add(frame: Frame, mapped: typeof PASS | readonly EventFrame[]): void {
    if (mapped !== PASS) this.addAll(mapped);
    else if (this.#own === null) this.#passed += 1;
    else this.#own.push(frame);
  }

  addAll(frames: readonly EventFrame[]): void {
    this.#own ??= this.came.slice(0, this.#passed);
    this.#own.push(...frames);
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
