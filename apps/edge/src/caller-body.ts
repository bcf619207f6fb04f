import type { IncomingMessage } from 'node:http';

/**
 * A request's body for the connection to a service: read only as fast as the service takes it. Unlike the request
 * itself, which undici would destroy with a connection, it can be given up while the caller is still sending.
 */
export class CallerBody implements AsyncIterable<Buffer> {
  readonly #request: IncomingMessage;
  #wake: (() => void) | undefined;
  #stopped = false;

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  /** Whether nothing is read at the moment, because the service takes no more. */
  get held(): boolean {
    return this.#wake === undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      // An end would have the service take a part for the whole.
      if (this.#stopped) throw new Error('the rest of the request body is not wanted');
      const chunk: Buffer | null = this.#request.read();
      if (chunk !== null) yield chunk;
      else if (this.#isRead()) return;
      else await this.#more();
    }
  }

  /** Reads no further: what still comes is the caller of this method's business. */
  stop(): void {
    this.#stopped = true;
    this.#wake?.();
  }

  #isRead(): boolean {
    return this.#request.complete && this.#request.readableLength === 0;
  }

  /** Resolves when there is something to read, when nothing more comes, or when nobody wants it any more. */
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
