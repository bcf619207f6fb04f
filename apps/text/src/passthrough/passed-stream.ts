import { GatewayError } from '@gateway/contracts/gateway-error';
import { createEventStream, type EventMapper, PASS } from '@gateway/model-service/stream/event-stream';
import type { RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import type { Frame } from '@gateway/service-kit/event-stream/frame-reader';
import { UnreadableReply } from '@gateway/upstream/replies/reply';
import type { StreamReader } from '../wire/stream/stream-reader.ts';

/** A frame may hold a whole image; beyond this it is the upstream's failure. */
const MAX_FRAME_BYTES = 32 * 1024 * 1024;

interface PassedStream {
  readonly reader: StreamReader;
  readonly requestId: string;
  /** Gets each frame but deltas, after the reader has taken it, and returns what is sent instead; null: the frame itself. */
  readonly onFrame: (frame: Frame) => string | Promise<string> | null;
}

/** A stream whose bytes pass as they are, while its events are read on the side. */
export const passedStream = (options: PassedStream): RelayedStream =>
  createEventStream({ mapper: new PassedEvents(options), maxFrameBytes: MAX_FRAME_BYTES });

class PassedEvents implements EventMapper {
  readonly rest = 'wanted';
  readonly #reader: StreamReader;
  readonly #requestId: string;
  readonly #onFrame: PassedStream['onFrame'];
  /** What the caller gets later, with all that follows it. */
  #held: Promise<string> | null = null;

  constructor({ reader, requestId, onFrame }: PassedStream) {
    this.#reader = reader;
    this.#requestId = requestId;
    this.#onFrame = onFrame;
  }

  frame(frame: Frame): typeof PASS | string {
    const kind = this.#reader.frame(frame);
    const replaced = kind === 'delta' ? null : this.#onFrame(frame);
    if (kind === 'hidden') return '';
    const held = this.#held;
    if (held !== null) {
      this.#held = held.then(async (text) => text + ((await replaced) ?? textOf(frame)));
      return '';
    }
    if (!(replaced instanceof Promise)) return replaced ?? PASS;
    this.#held = replaced;
    return '';
  }

  takeHeld(): Promise<string> | null {
    const held = this.#held;
    this.#held = null;
    return held;
  }

  end(): string | GatewayError {
    if (this.#reader.mayEnd) return '';
    return new UnreadableReply('The upstream ended its stream before the end of the answer.');
  }

  fail(error: GatewayError): string {
    return this.#reader.breakOff(error, this.#requestId);
  }

  get failure(): GatewayError | null {
    const { reportedFailure } = this.#reader;
    return reportedFailure === null ? null : failureReported(reportedFailure);
  }

  get isWhole(): boolean {
    return this.#reader.ended;
  }

  get id(): string | null {
    return this.#reader.id;
  }

  keepAlive(): string | null {
    return this.#reader.keepAlive();
  }
}

const textOf = ({ bytes, start, end }: Frame): string => bytes.toString('utf8', start, end);

/** The provider itself reported a failure within a reply that passes as it is. */
export const failureReported = (what: string): GatewayError =>
  new GatewayError('upstream_failed', {
    message: 'The upstream failed to answer this request.',
    source: 'upstream',
    cause: new Error(`the upstream reported a failure: ${what}`),
  });
