interface InOrderOptions {
  /** Handles a message, at once or by `hold`. */
  readonly take: (message: Buffer) => void;
  /** Called where messages begin to wait, and where none do any more: nothing need be read meanwhile. */
  readonly onBusy: (isBusy: boolean) => void;
}

/** The messages of a caller in their order: those after one that takes time wait for it. */
export class InOrder {
  readonly #options: InOrderOptions;
  readonly #waiting: Buffer[] = [];
  isBusy = false;

  constructor(options: InOrderOptions) {
    this.#options = options;
  }

  push(message: Buffer): void {
    if (this.isBusy) this.#waiting.push(message);
    else this.#options.take(message);
  }

  /** To be called by `take`: what comes after this message waits. @param work never rejects */
  hold(work: Promise<void>): void {
    const { take, onBusy } = this.#options;
    this.isBusy = true;
    onBusy(true);
    void work.then(() => {
      this.isBusy = false;
      while (!this.isBusy) {
        const next = this.#waiting.shift();
        if (next === undefined) break;
        take(next);
      }
      if (!this.isBusy) onBusy(false);
    });
  }
}
