import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Output, RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import type { Reply } from '@gateway/upstream/replies/reply';
import { type Keep, keepLastFrame } from '../call/keeping/keep-last-frame.ts';
import type { StreamTranslator } from '../conversion/translate-stream.ts';

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

  fail(error: GatewayError): string | Promise<string> {
    return keepLastFrame(this.#stream.fail(error), this.#keep);
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

  goOn(): Promise<Reply | null> | null {
    return this.#stream.goOn();
  }

  /** Only the last chunk is searched. */
  #checked(frames: string): string | Promise<string> {
    return this.#stream.ended ? keepLastFrame(frames, this.#keep) : frames;
  }
}
