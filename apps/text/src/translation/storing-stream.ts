import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Output, RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import type { Reply } from '@gateway/upstream/replies/reply';
import { type StoreResponse, storeLastFrame } from '../call/storing/store-last-frame.ts';
import type { StreamTranslator } from '../conversion/translate-stream.ts';

/** A translated stream whose last event waits until the response is stored. */
export class StoringStream implements RelayedStream {
  readonly #stream: StreamTranslator;
  readonly #keep: StoreResponse;
  readonly id = null;

  constructor(stream: StreamTranslator, store: StoreResponse) {
    this.#stream = stream;
    this.#keep = store;
  }

  push(chunk: Buffer): Output | Promise<Output> {
    return this.#checked(this.#stream.push(chunk));
  }

  end(): Output | Promise<Output> {
    return this.#checked(this.#stream.end());
  }

  fail(error: GatewayError): string | Promise<string> {
    return storeLastFrame(this.#stream.fail(error), this.#keep);
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
    return this.#stream.ended ? storeLastFrame(frames, this.#keep) : frames;
  }
}
