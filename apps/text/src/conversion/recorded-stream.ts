import type { Output, RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import { createFrameReader, type Frame } from '@gateway/service-kit/event-stream/frame-reader';
import type { Reply } from '@gateway/upstream/reply';
import { MessageRecorder, type RecordedMessage } from '../protocols/messages/message-recorder.ts';

/** A frame that the caller gets is at most as large as the upstream's. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** A stream of the Messages protocol that puts the message together which its caller gets. */
export class RecordedStream implements RelayedStream {
  readonly #stream: RelayedStream;
  readonly #frames = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
  readonly #recorder = new MessageRecorder();

  constructor(stream: RelayedStream) {
    this.#stream = stream;
  }

  /** Null before the message's end, and where it is not to be kept. */
  get message(): RecordedMessage | null {
    return this.#recorder.message;
  }

  push(chunk: Buffer): Output {
    return this.#recorded(this.#stream.push(chunk));
  }

  end(): Output {
    const output = this.#recorded(this.#stream.end());
    this.#record(this.#frames.end());
    return output;
  }

  fail: RelayedStream['fail'] = (error) => this.#stream.fail(error);

  get failure() {
    return this.#stream.failure;
  }

  get isWhole(): boolean {
    return this.#stream.isWhole;
  }

  get rest() {
    return this.#stream.rest;
  }

  get id(): string | null {
    return this.#stream.id;
  }

  keepAlive(): string | null {
    return this.#stream.keepAlive();
  }

  goOn(): Promise<Reply> | null {
    return this.#stream.goOn?.() ?? null;
  }

  #recorded(output: Output): Output {
    if (output === null) return null;
    const bytes = typeof output === 'string' ? Buffer.from(output) : output;
    for (const frame of this.#frames.push(bytes)) this.#record(frame);
    return output;
  }

  #record(frame: Frame | null): void {
    const data = frame?.data ?? null;
    if (data !== null) this.#recorder.record(data);
  }
}

/** The message that a caller gets as frames. */
export function messageIn(frames: string): RecordedMessage | null {
  const recorder = new MessageRecorder();
  for (const { data } of createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES }).push(Buffer.from(frames)))
    if (data !== null) recorder.record(data);
  return recorder.message;
}
