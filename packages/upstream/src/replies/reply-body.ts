import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { ReplySink } from './reply.ts';

/** The most bytes that wait for a consumer before the connection is paused. */
const MAX_WAITING_BYTES = 262_144;

/** Takes the chunks of a body in order, and returns what they are to be read as; null at its end: what was held back until then. */
export type TextRepair = (chunk: Buffer | null) => Buffer;

/** The provider's side of a body: can be paused and resumed. */
interface Source {
  pause(): void;
  resume(): void;
}

/** A reply's body from the provider to a sink: in order, with backpressure, ended exactly once. */
export class ReplyBody {
  readonly #source: Source;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #sink: ReplySink | null = null;
  #paused = false;
  /** Its provider had to wait for the consumer. */
  hasPaused = false;
  #ended = false;
  #error: GatewayError | null = null;
  /** Null for nearly every reply. */
  #repair: TextRepair | null = null;
  /** Without a consumer it takes what comes; the check of the reply bounds it. */
  unbounded = false;
  /** After the sink has cancelled, it cannot block the rest. */
  neverPause = false;

  constructor(source: Source) {
    this.#source = source;
  }

  /** Whether the whole body has arrived. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Whether the sink has paused. */
  get paused(): boolean {
    return this.#paused;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** The waiting bytes, as one chunk. */
  peek(): Buffer {
    const [first] = this.#waiting;
    if (this.#waiting.length !== 1 || first === undefined) this.#waiting = [Buffer.concat(this.#waiting)];
    return this.#waiting[0] ?? Buffer.alloc(0);
  }

  /** Returns the chunk as it is read. */
  push(received: Buffer): Buffer {
    return this.#take(this.#repair === null ? received : this.#repair(received));
  }

  /** The whole body has been pushed. Returns what is read after that all the same. */
  rest(): Buffer | null {
    const rest = this.#repair?.(null) ?? null;
    return rest === null || rest.length === 0 ? null : this.#take(rest);
  }

  #take(chunk: Buffer): Buffer {
    // undici delivers nothing when it is resumed with nothing to read; a sink that then pauses would loop for ever.
    if (chunk.length === 0) return chunk;
    if (this.#sink !== null && !this.#paused && this.#waiting.length === 0) {
      this.#pass(this.#sink, chunk);
      return chunk;
    }
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes > MAX_WAITING_BYTES && !this.unbounded) this.#pause();
    return chunk;
  }

  /** From its beginning on, which waits, its bytes are read with this repair. */
  repair(repair: TextRepair): void {
    const start = repair(this.peek());
    this.#repair = repair;
    this.#waiting = [start];
    this.#waitingBytes = start.length;
  }

  end(): void {
    this.#ended = true;
    this.#flush();
  }

  /** Ends the body with an error: after what is waiting has been read, or at once. */
  fail(error: GatewayError, when: 'after what is waiting' | 'at once'): void {
    this.#error = error;
    if (when === 'at once') {
      this.#waiting = [];
      this.#paused = false;
    }
    this.#flush();
  }

  consume(sink: ReplySink): void {
    if (this.#sink !== null) throw new Error('a reply can be consumed once');
    this.#sink = sink;
    this.#flush();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#flush();
  }

  #pass(sink: ReplySink, chunk: Buffer): void {
    if (sink.onChunk(chunk) || this.neverPause) return;
    this.#paused = true;
    this.#pause();
  }

  #pause(): void {
    this.hasPaused = true;
    this.#source.pause();
  }

  #flush(): void {
    const sink = this.#sink;
    if (sink === null || this.#paused) return;
    const waiting = this.#waiting;
    let next = 0;
    while (next < waiting.length && !this.#paused) {
      const chunk = waiting[next];
      next += 1;
      if (chunk !== undefined) {
        this.#waitingBytes -= chunk.length;
        this.#pass(sink, chunk);
      }
    }
    this.#waiting = next < waiting.length ? waiting.slice(next) : [];
    if (this.#paused) return;
    if (this.#error !== null) sink.onError(this.#error);
    else if (this.#ended) sink.onEnd();
    else this.#source.resume();
  }
}
