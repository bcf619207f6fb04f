import type { IncomingMessage } from 'node:http';

/** What one request may keep of its body; most are smaller, and those of agents too. */
const MAX_KEPT_BYTES = 1024 * 1024;
/** What all requests together may keep. */
const MAX_KEPT_BYTES_IN_ALL = 64 * 1024 * 1024;

/** What the requests of one edge keep together. */
export class KeptBytes {
  #bytes = 0;

  /** False: so many more would exceed the bound. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > MAX_KEPT_BYTES_IN_ALL) return false;
    this.#bytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/**
 * A request's body for the connection to a service: read only as fast as the service takes it. Unlike the request
 * itself, which undici would destroy with a connection, it can be abandoned while the caller is still sending. Where it is
 * to be kept, a second reading begins with what the first one has read, until it is `release`d.
 */
export class CallerBody implements AsyncIterable<Buffer> {
  readonly #request: IncomingMessage;
  readonly #allowance: KeptBytes | undefined;
  /** Undefined: it is not kept, or no longer whole. */
  #kept: Buffer[] | undefined;
  #keptBytes = 0;
  #arrived: Buffer | undefined;
  #wake: (() => void) | undefined;
  #stopped = false;
  /** Counts the readings: one that was given up must take nothing from the next one. */
  #reading = 0;

  /** @param allowance of the bytes to keep; undefined: nothing is kept */
  constructor(request: IncomingMessage, allowance: KeptBytes | undefined) {
    this.#request = request;
    this.#allowance = allowance;
    this.#kept = allowance === undefined ? undefined : [];
  }

  /** Whether reading is paused, because the service takes no more. */
  get held(): boolean {
    return this.#wake === undefined;
  }

  /** Whether it can be read from its beginning. */
  get isWhole(): boolean {
    return this.#kept !== undefined;
  }

  /**
   * The body in one piece, if all of it is here before anything of it was sent: then it needs no reading, and leaves in the same
   * write as the head. Undefined for any other, and for an empty one.
   */
  arrived(): Buffer | undefined {
    if (this.#arrived !== undefined || this.#reading > 0 || this.#stopped) return this.#arrived;
    if (!this.#request.complete) return undefined;
    const bytes: Buffer | null = this.#request.read();
    if (bytes === null) return undefined;
    this.#keep(bytes);
    this.#arrived = bytes;
    return bytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    this.#reading += 1;
    const reading = this.#reading;
    if (reading > 1) yield* [...(this.#kept ?? [])];
    for (;;) {
      // After a normal end the service would take a part for the whole.
      if (this.#stopped || reading !== this.#reading)
        throw new Error('the rest of the request body is not read');
      const chunk: Buffer | null = this.#request.read();
      if (chunk !== null) {
        this.#keep(chunk);
        yield chunk;
      } else if (this.#isRead()) return;
      else await this.#more();
    }
  }

  /** Keeps nothing any more: the body will not be needed again. */
  release(): void {
    this.#allowance?.giveBack(this.#keptBytes);
    this.#keptBytes = 0;
    this.#kept = undefined;
    this.#arrived = undefined;
  }

  /** Stops reading; the caller of this method handles the rest of the body. */
  stop(): void {
    this.#stopped = true;
    this.release();
    this.#wake?.();
  }

  #keep(chunk: Buffer): void {
    if (this.#kept === undefined) return;
    const isTooMuch = this.#keptBytes + chunk.length > MAX_KEPT_BYTES;
    if (isTooMuch || this.#allowance?.take(chunk.length) === false) this.release();
    else {
      this.#kept.push(chunk);
      this.#keptBytes += chunk.length;
    }
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
        if (this.#wake === wake) this.#wake = undefined;
        resolve();
      };
      this.#wake = wake;
      request.on('readable', wake);
      request.on('end', wake);
      request.on('close', wake);
    });
  }
}
