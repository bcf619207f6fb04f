import type { ReplySink } from '@gateway/upstream/replies/reply';

/** Brings what was checked to the reader of a reply, no faster than that takes it, and lets its upstream go on when there is nothing left. */
export class Outlet {
  readonly #sink: ReplySink;
  readonly #onFree: () => void;
  readonly #waiting: (() => boolean)[] = [];
  #isPaused = false;
  #checks = 0;
  /** Nothing follows what waits. */
  isOver = false;

  constructor(sink: ReplySink, onFree: () => void) {
    this.#sink = sink;
    this.#onFree = onFree;
  }

  get isFree(): boolean {
    return this.#checks === 0 && !this.#isPaused && this.#waiting.length === 0;
  }

  /** A check begins. */
  begin(): void {
    this.#checks += 1;
  }

  done(): void {
    this.#checks -= 1;
    if (this.isFree) this.#onFree();
  }

  chunk(bytes: Buffer): void {
    this.#put(() => this.#sink.onChunk(bytes));
  }

  end(last: () => void): void {
    this.isOver = true;
    this.#put(() => {
      last();
      return false;
    });
  }

  resume(): void {
    this.#isPaused = false;
    this.#flush();
    if (this.isFree) this.#onFree();
  }

  #put(step: () => boolean): void {
    this.#waiting.push(step);
    this.#flush();
  }

  #flush(): void {
    while (!this.#isPaused) {
      const step = this.#waiting.shift();
      if (step === undefined) return;
      this.#isPaused = true;
      if (step()) this.#isPaused = false;
    }
  }
}
