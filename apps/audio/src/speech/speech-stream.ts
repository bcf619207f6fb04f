import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { COMMENT_FRAME } from '@gateway/contracts/event-stream/sse-frames';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { createEventStream, type EventMapper, PASS } from '@gateway/model-service/stream/event-stream';
import type { RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import { errorFrame, isErrorEvent, MAX_FRAME_BYTES, typedText } from '../event-frames.ts';

/** The last event of a complete answer. */
const DONE = 'speech.audio.done';

/** Audio itself. It has no words for an error: a broken recording breaks its connection, so that no half is taken for a whole. */
export const audioStream = (): RelayedStream => ({
  push: (chunk) => chunk,
  end: () => null,
  fail: () => null,
  failure: null,
  isWhole: false,
  rest: 'wanted',
  id: null,
  keepAlive: () => null,
});

/** Events with audio, which pass as they are. `onDone` gets the data of the last one. */
export const speechEventStream = (onDone: (data: string) => void): RelayedStream =>
  createEventStream({ mapper: new SpeechEvents(onDone), maxFrameBytes: MAX_FRAME_BYTES });

class SpeechEvents implements EventMapper {
  readonly id = null;
  readonly #onDone: (data: string) => void;
  #isDone = false;
  failure: GatewayError | null = null;

  constructor(onDone: (data: string) => void) {
    this.#onDone = onDone;
  }

  frame(frame: Frame): typeof PASS | readonly string[] {
    const typed = typedText(frame);
    const shown = typed === null ? PASS : [typed];
    if (this.isWhole) return shown;
    if (frame.includes(DONE)) {
      this.#isDone = true;
      this.#onDone(frame.data ?? '');
    } else if (isErrorEvent(frame.latin1)) {
      this.failure = broken('The upstream ended its answer with an error.');
    }
    return shown;
  }

  end(): readonly string[] | GatewayError {
    return this.isWhole ? [] : broken('The upstream ended its answer too early.');
  }

  fail(error: GatewayError): readonly string[] {
    return this.failure === null ? [errorFrame(error)] : [];
  }

  get isWhole(): boolean {
    return this.#isDone || this.failure !== null;
  }

  get rest(): RelayedStream['rest'] {
    if (this.failure !== null) return 'read-off';
    return this.#isDone ? 'ending' : 'wanted';
  }

  keepAlive(): string {
    return COMMENT_FRAME;
  }
}

const broken = (message: string) => new GatewayError('upstream_failed', { message, source: 'upstream' });
