import type { EventFrame } from '@gateway/contracts/event-stream/event-frame';
import { isEndMark, missingName, typedData } from '@gateway/contracts/event-stream/frame-data';
import { createFrameReader, type Frame } from '@gateway/contracts/event-stream/frame-reader';
import { DONE_FRAME } from '@gateway/contracts/event-stream/sse-frames';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { createEventStream, type EventMapper, PASS } from '@gateway/model-service/stream/event-stream';
import type { RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import { cleanMessage } from '@gateway/upstream/failures/clean-message';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { isLarge } from '../large/shared-bytes.ts';
import { decodeFailure } from '../wire/openai-errors.ts';
import type { StreamReader } from '../wire/stream/stream-reader.ts';
import type { ShownEnd } from './pass-large-event.ts';

/** A frame may hold a whole image; beyond this it is the upstream's failure. */
const MAX_FRAME_BYTES = 32 * 1024 * 1024;

type Frames = readonly EventFrame[];

interface PassedStream {
  readonly reader: StreamReader;
  readonly requestId: string;
  /** Gets each frame but deltas, after the reader has taken it, and returns what is sent instead; null: the frame itself. */
  readonly onFrame: (frame: Frame) => EventFrame | Promise<EventFrame> | null;
  /** The same for deltas; absent: they pass as they are. */
  readonly onDelta?: (frame: Frame) => EventFrame | Promise<EventFrame> | null;
  /** Gets the frames that end a stream which broke, and returns what is sent instead. */
  readonly onBroken?: (frames: readonly string[]) => Frames | Promise<Frames>;
  /** The caller's clients go by the names of events: they get one where the server writes none. */
  readonly namesEvents: boolean;
  /** What is done with an event that is too large for the event loop; null for one that is read as any other. */
  readonly onLarge?: (frame: Frame) => Promise<ShownEnd | null> | null;
  /** The error that an event's data reports in words of the upstream's own. */
  readonly explain: (data: string) => GatewayError;
}

/** A stream whose bytes pass as they are, while its events are read on the side. */
export const passedStream = (options: PassedStream): RelayedStream =>
  createEventStream({ mapper: new PassedEvents(options), maxFrameBytes: MAX_FRAME_BYTES });

/** What a reply's own words for a failure mean, fit for callers. */
export const explainFor =
  ({ candidate }: Pick<Reply, 'candidate'>) =>
  (data: string): GatewayError =>
    decodeFailure(data, (text) => cleanMessage(text, candidate));

class PassedEvents implements EventMapper {
  readonly #reader: StreamReader;
  readonly #requestId: string;
  readonly #onFrame: PassedStream['onFrame'];
  readonly #onDelta: PassedStream['onDelta'];
  readonly #namesEvents: boolean;
  readonly #explain: PassedStream['explain'];
  readonly #onBroken: PassedStream['onBroken'];
  readonly #onLarge: PassedStream['onLarge'];
  /** What the caller gets later, with all that follows it. */
  #held: (EventFrame | Promise<EventFrame | Frames>)[] = [];
  /** The caller has got an error instead of the upstream's own words for it. */
  #isBrokenOff = false;

  constructor({
    reader,
    requestId,
    onFrame,
    onDelta,
    explain,
    onBroken,
    namesEvents,
    onLarge,
  }: PassedStream) {
    this.#onLarge = onLarge;
    this.#reader = reader;
    this.#requestId = requestId;
    this.#onFrame = onFrame;
    this.#onDelta = onDelta;
    this.#namesEvents = namesEvents;
    this.#explain = explain;
    this.#onBroken = onBroken;
  }

  frame(received: Frame): typeof PASS | Frames {
    const large = isLarge(received.end - received.start) ? (this.#onLarge?.(received) ?? null) : null;
    if (large === null) return this.#small(received);
    this.#held.push(this.#large(received, large));
    return [];
  }

  async #large(frame: Frame, reading: Promise<ShownEnd | null>): Promise<Frames> {
    const end = await reading;
    const kind = this.#reader.frame(end?.head ?? frame);
    if (kind === 'failed') {
      this.#isBrokenOff = true;
      return this.#brokenBy(this.#explain(end?.head.data ?? frame.data ?? ''));
    }
    return kind === 'hidden' ? [] : [(await (end?.show() ?? this.#event(frame))) ?? frame];
  }

  #small(received: Frame): typeof PASS | Frames {
    const named = this.#namesEvents ? namedFrame(received) : null;
    const frame = named ?? received;
    const kind = this.#reader.frame(frame);
    if (kind === 'failed') {
      this.#isBrokenOff = true;
      return this.fail(this.#explain(frame.data ?? ''));
    }
    const replaced = (kind === 'delta' ? (this.#onDelta?.(frame) ?? null) : this.#event(frame)) ?? named;
    if (kind === 'hidden') return [];
    if (this.#held.length === 0 && !(replaced instanceof Promise))
      return replaced === null ? PASS : [replaced];
    this.#held.push(replaced ?? frame);
    return [];
  }

  /** Clients go by the types of events: they get one where the server gives none. */
  #event(frame: Frame): EventFrame | Promise<EventFrame> | null {
    const typed = typedFrame(frame);
    return this.#onFrame(typed ?? frame) ?? typed;
  }

  takeHeld(): Promise<Frames> | null {
    if (this.#held.length === 0) return null;
    const held = Promise.all(this.#held);
    this.#held = [];
    return held.then((frames) => frames.flat());
  }

  end(): Frames | GatewayError {
    const { mayEnd, owed } = this.#reader;
    if (mayEnd) return owed === '' ? [] : [owed];
    return new UnreadableReply('The upstream ended its stream before the end of the answer.');
  }

  fail(error: GatewayError): Frames {
    const shown = this.#brokenBy(error);
    if (!(shown instanceof Promise)) return shown;
    this.#held.push(shown);
    return [];
  }

  #brokenBy(error: GatewayError): Frames | Promise<Frames> {
    const frames = this.#reader.breakOff(error, this.#requestId);
    return this.#onBroken?.(frames) ?? frames;
  }

  get failure(): GatewayError | null {
    const { reportedFailure } = this.#reader;
    return reportedFailure === null ? null : failureReported(reportedFailure);
  }

  get isWhole(): boolean {
    return this.#reader.ended || this.#isBrokenOff;
  }

  get rest(): RelayedStream['rest'] {
    return this.#isBrokenOff ? 'cancelled' : this.#reader.rest;
  }

  get id(): string | null {
    return this.#reader.id;
  }

  keepAlive(): string | null {
    return this.#reader.keepAlive();
  }
}

/** An event as its protocol writes it, where its server does not; null for any other. */
function typedFrame(frame: Frame): Frame | null {
  const { data } = frame;
  if (data !== null && !data.startsWith('{') && data !== END_MARK && isEndMark(data))
    return frameOf(DONE_FRAME);
  const typed = typedData(frame, data);
  if (typed === null) return null;
  const name = /^\{"type":"([\w.]+)"/.exec(typed)?.[1] ?? '';
  return frameOf(`event: ${name}\ndata: ${typed}\n\n`);
}

/** An event with its name, where its server writes none; null for any other. */
function namedFrame(frame: Frame): Frame | null {
  if (frame.bytes[frame.start] !== DATA_BYTE) return null;
  const name = missingName(frame);
  return name === null ? null : frameOf(`event: ${name}\ndata: ${frame.data}\n\n`);
}

const DATA_BYTE = 0x64;

const frameOf = (text: string): Frame | null =>
  createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES }).push(Buffer.from(text))[0] ?? null;

/** The provider itself reported a failure within a reply that passes as it is. */
export const failureReported = (what: string): GatewayError =>
  new GatewayError('upstream_failed', {
    message: 'The upstream failed to answer this request.',
    source: 'upstream',
    cause: new Error(`the upstream reported a failure: ${what}`),
  });
