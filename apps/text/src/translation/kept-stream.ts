import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Output, RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import type { Reply } from '@gateway/upstream/replies/reply';
import type { Amendment } from '../call/keeping/keep-response.ts';
import type { StreamTranslator } from '../conversion/translate-stream.ts';
import { type JsonObject, objectAt } from '../wire/json-object.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import { namedFrame } from '../wire/stream/sse-frames.ts';

/** Keeps a response that has ended, and returns the members that its caller gets instead. */
export type Keep = (response: JsonObject) => Promise<Amendment>;

/**
 * The event that ends a stream of ours, in the form in which we write it. JSON may hold U+2028 and U+2029 unescaped; `.` does
 * not match them, and they end no line of an event stream.
 */
const LAST_FRAME = /(?:^|\n\n)(event: (response\.(?:completed|incomplete|failed))\ndata: ([^\n]*)\n\n)/;

/** Keeps the response that the last event of these frames shows; gives the frames with what is true of it. */
export function keepLastFrame(frames: string, keep: Keep): string | Promise<string> {
  const [, frame = '', type = '', data = ''] = LAST_FRAME.exec(frames) ?? [];
  const event = frame === '' ? null : parseBody(data);
  const response = isJsonObject(event) ? objectAt(event, 'response') : null;
  if (!isJsonObject(event) || response === null) return frames;
  const amended = (amendment: Amendment) =>
    frames.replace(frame, () => namedFrame({ ...event, type, response: { ...response, ...amendment } }));
  if (type === 'response.failed') return amended({ store: false });
  return keep(response).then((amendment) => (amendment === null ? frames : amended(amendment)));
}

/** A translated stream whose last event waits until the response is kept. */
export class KeptStream implements RelayedStream {
  readonly #stream: StreamTranslator;
  readonly #keep: Keep;
  readonly id = null;

  constructor(stream: StreamTranslator, keep: Keep) {
    this.#stream = stream;
    this.#keep = keep;
  }

  push(chunk: Buffer): Output | Promise<Output> {
    return this.#checked(this.#stream.push(chunk));
  }

  end(): Output | Promise<Output> {
    return this.#checked(this.#stream.end());
  }

  fail(error: GatewayError): string {
    const frames = keepLastFrame(this.#stream.fail(error), this.#keep);
    if (typeof frames !== 'string') throw new Error('a failure that ends an answer well');
    return frames;
  }

  get failure(): GatewayError | null {
    return this.#stream.failure;
  }

  get isWhole(): boolean {
    return this.#stream.isWhole;
  }

  get rest(): RelayedStream['rest'] {
    return this.#stream.rest;
  }

  keepAlive(): string {
    return this.#stream.keepAlive();
  }

  goOn(): Promise<Reply> | null {
    return this.#stream.goOn();
  }

  /** Only the last chunk is searched. */
  #checked(frames: string): string | Promise<string> {
    return this.#stream.ended ? keepLastFrame(frames, this.#keep) : frames;
  }
}
