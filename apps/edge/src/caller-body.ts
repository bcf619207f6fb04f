import type { IncomingMessage } from 'node:http';

/**
 * A request's body for the connection to a service: read only as fast as the service takes it. Unlike the request
 * itself, which undici would destroy with a connection, it can be abandoned while the caller is still sending.
 */
export class CallerBody implements AsyncIterable<Buffer> {
  readonly #request: IncomingMessage;
  #wake: (() => void) | undefined;
  #stopped = false;

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  /** Whether reading is paused, because the service takes no more. */
  get held(): boolean {
    return this.#wake === undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      // After a normal end the service would take a part for the whole.
      if (this.#stopped) throw new Error('the rest of the request body is not read');
      const chunk: Buffer | null = this.#request.read();
      if (chunk !== null) yield chunk;
      else if (this.#isRead()) return;
      else await this.#more();
    }
  }

  /** Stops reading; the caller of this method handles the rest of the body. */
  stop(): void {
    this.#stopped = true;
    this.#wake?.();
  }

  #isRead(): boolean {
    return this.#request.complete && this.#request.readableLength === 0;
  }

  /** Resolves when there is a chunk to read, when the body has ended, or when reading has stopped. */
  #more(): Promise<void> {
    const request = this.#request;
    return new Promise((resolve) => {
      const wake = () => {
        request.off('readable', wake);
        request.off('end', wake);
        request.off('close', wake);
        this.#wake = undefined;
        resolve();
      };
      this.#wake = wake;
      request.on('readable', wake);
      request.on('end', wake);
      request.on('close', wake);
    });
  }
}
