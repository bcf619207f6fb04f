import { typedData } from '@gateway/contracts/event-stream/frame-data';
import { createFrameReader, type Frame, FrameTooLarge } from '@gateway/contracts/event-stream/frame-reader';
import { COMMENT_FRAME, dataFrame } from '@gateway/contracts/event-stream/sse-frames';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { parseJson } from '@gateway/contracts/json/json-depth';
import { jsonIn } from '@gateway/contracts/json/json-object';
import type { Output, RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import { z } from 'zod';
import { errorFrame, isErrorEvent, MAX_FRAME_BYTES } from '../event-frames.ts';

/** Base64 of every three bytes is independent of the rest, so that the events' texts joined are that of the whole audio. */
const UNIT_BYTES = 3;

/** Raw audio as the events that the caller requested: one for each chunk, as it comes. */
export class AudioAsEvents implements RelayedStream {
  readonly failure = null;
  readonly rest = 'wanted';
  readonly id = null;
  #left = Buffer.alloc(0);
  #isWhole = false;

  push(chunk: Buffer): Output {
    const bytes = this.#left.length === 0 ? chunk : Buffer.concat([this.#left, chunk]);
    const whole = bytes.length - (bytes.length % UNIT_BYTES);
    this.#left = Buffer.from(bytes.subarray(whole));
    return whole === 0 ? null : [this.#delta(bytes.subarray(0, whole))];
  }

  /** Providers of raw audio do not report usage, so the last event has none either. */
  end(): Output {
    this.#isWhole = true;
    const last = this.#left.length === 0 ? [] : [this.#delta(this.#left)];
    return [...last, dataFrame({ type: 'speech.audio.done' })];
  }

  fail(error: GatewayError): readonly string[] {
    return [errorFrame(error)];
  }

  get isWhole(): boolean {
    return this.#isWhole;
  }

  keepAlive(): string {
    return COMMENT_FRAME;
  }

  #delta(bytes: Buffer): string {
    return dataFrame({ type: 'speech.audio.delta', audio: bytes.toString('base64') });
  }
}

const SpeechEvent = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('speech.audio.delta'), audio: z.string() }),
  z.looseObject({ type: z.literal('speech.audio.done') }),
]);

/**
 * Events as the raw audio that the caller requested. It has no words for an error: whatever breaks it is thrown, which
 * breaks the connection once audio has gone out. `onDone` gets the data of the last event.
 */
export class EventsAsAudio implements RelayedStream {
  readonly failure = null;
  readonly id = null;
  readonly #reader = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
  readonly #onDone: (data: string) => void;
  #isWhole = false;
  #hasAudio = false;

  constructor(onDone: (data: string) => void) {
    this.#onDone = onDone;
  }

  push(chunk: Buffer): Output {
    try {
      return this.#audioOf(this.#reader.push(chunk));
    } catch (error) {
      if (!(error instanceof FrameTooLarge)) throw error;
      throw broken('The upstream sent an event that is too large to read.', error);
    }
  }

  end(): Output {
    const last = this.#reader.end();
    const audio = last === null ? null : this.#audioOf([last]);
    if (!this.#isWhole) throw broken('The upstream ended its answer too early.');
    return audio;
  }

  fail(): null {
    return null;
  }

  get isWhole(): boolean {
    return this.#isWhole;
  }

  get rest(): RelayedStream['rest'] {
    return this.#isWhole ? 'ending' : 'wanted';
  }

  keepAlive(): null {
    return null;
  }

  #audioOf(frames: readonly Frame[]): Buffer | null {
    const audio = frames.flatMap((one) => this.#read(one) ?? []);
    return audio.length === 0 ? null : Buffer.concat(audio);
  }

  #read(frame: Frame): Buffer | null {
    const { latin1 } = frame;
    const data = typedData(frame) ?? frame.data;
    if (this.#isWhole || data === null || data === END_MARK) return null;
    if (isErrorEvent(latin1)) throw broken('The upstream ended its answer with an error.');
    const event = SpeechEvent.safeParse(jsonIn(data, parseJson)).data;
    if (event === undefined) return null;
    if (event.type === 'speech.audio.delta') {
      this.#hasAudio ||= event.audio !== '';
      return Buffer.from(event.audio, 'base64');
    }
    this.#onDone(data);
    if (!this.#hasAudio) throw broken('The upstream ended its answer without any audio.');
    this.#isWhole = true;
    return null;
  }
}

const broken = (message: string, cause?: unknown) =>
  new GatewayError('upstream_failed', { message, source: 'upstream', retry: false, cause });
