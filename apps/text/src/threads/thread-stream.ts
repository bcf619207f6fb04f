import { createFrameReader, type Frame } from '@gateway/contracts/event-stream/frame-reader';
import { isOver, type Output, type RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import type { Reply } from '@gateway/upstream/replies/reply';
import { turnIn } from '../call/request/history.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { MessageRecorder, type RecordedMessage } from '../protocols/messages/reply/message-recorder.ts';

/** A frame that the caller gets is at most as large as the upstream's. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** A stream whose end waits until its message is stored, where its call is a thread's turn. */
export function threadStream(
  { history, request }: Pick<TextCall, 'history' | 'request'>,
  { candidate }: Reply,
  stream: RelayedStream,
): RelayedStream {
  const turn = turnIn(history);
  if (turn === null) return stream;
  return new ThreadStream(stream, (message) => turn.store(message, { request, candidate }));
}

/** The message that a caller gets as these frames; null where it is not to be stored. */
export function messageIn(frames: string): RecordedMessage | null {
  const recorder = new MessageRecorder();
  const reader = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
  for (const frame of reader.push(Buffer.from(frames))) record(recorder, frame);
  return recorder.message;
}

function record(recorder: MessageRecorder, frame: Frame | null): void {
  const data = frame?.data ?? null;
  if (data !== null) recorder.record(data);
}

class ThreadStream implements RelayedStream {
  readonly #stream: RelayedStream;
  readonly #keep: (message: RecordedMessage | null) => Promise<void>;
  readonly #frames = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
  readonly #recorder = new MessageRecorder();
  #isKept = false;
  #hasEnded = false;

  constructor(stream: RelayedStream, store: (message: RecordedMessage | null) => Promise<void>) {
    this.#stream = stream;
    this.#keep = store;
  }

  push(chunk: Buffer): Output | Promise<Output> {
    const output = this.#stream.push(chunk);
    return output instanceof Promise ? output.then((given) => this.#given(given)) : this.#given(output);
  }

  end(): Output | Promise<Output> {
    const output = this.#stream.end();
    this.#hasEnded = true;
    const given = (last: Output) => {
      const shown = this.#given(last);
      record(this.#recorder, this.#frames.end());
      return shown;
    };
    return output instanceof Promise ? output.then(given) : given(output);
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

  goOn(): Promise<Reply | null> | null {
    return this.#stream.goOn?.() ?? null;
  }

  #given(output: Output): Output | Promise<Output> {
    if (output !== null) {
      const bytes = typeof output === 'string' ? Buffer.from(output) : output;
      for (const frame of this.#frames.push(bytes)) record(this.#recorder, frame);
    }
    const { isWhole, rest } = this.#stream;
    if (this.#isKept || !isWhole) return output;
    const { message } = this.#recorder;
    // Of a whole answer the last events may follow with the end of its upstream's stream.
    if (message === null && !this.#hasEnded && !isOver(rest)) return output;
    this.#isKept = true;
    return this.#keep(message).then(() => output);
  }
}
