/** Which of a channel's time limits ran out. */
export type Limit = 'sending' | 'first output' | 'idle' | 'total' | 'all attempts' | 'drain';

/**
 * The time limits of one exchange on a single timer. Activity only stores the time; a timer that fires too early is set
 * again for the rest. So a short exchange costs one timer, for any number of chunks.
 */
export class Deadline {
  readonly #onExpire: (limit: Limit) => void;
  #timer: NodeJS.Timeout | null = null;
  #limit: Limit = 'sending';
  #limitMs = 0;
  #since: number;
  #endsAt: number;
  #endsBy: Limit = 'total';
  #armedFor = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor(startedAt: number, totalMs: number, onExpire: (limit: Limit) => void) {
    this.#since = startedAt;
    this.#endsAt = startedAt + totalMs;
    this.#limitMs = totalMs;
    this.#onExpire = onExpire;
  }

  /** Starts this limit, from zero. */
  begin(limit: Limit, limitMs: number): void {
    this.#limit = limit;
    this.#limitMs = limitMs;
    this.#since = performance.now();
    this.#arm(this.#since);
  }

  /** Restarts the current limit after activity. */
  touch(): void {
    this.#since = performance.now();
  }

  /** Ends the exchange at this time at the latest, by the clock of `performance.now()`. */
  endBy(limit: Limit, endsAt: number): void {
    this.#endsAt = endsAt;
    this.#endsBy = limit;
    this.#arm(performance.now());
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #arm(now: number): void {
    const due = Math.min(this.#since + this.#limitMs, this.#endsAt);
    if (this.#stopped || due >= this.#armedFor) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#armedFor = due;
    this.#timer = setTimeout(() => this.#fire(), Math.max(1, Math.ceil(due - now)));
  }

  #fire(): void {
    this.#armedFor = Number.POSITIVE_INFINITY;
    this.#timer = null;
    const now = performance.now();
    const limitEndsAt = this.#since + this.#limitMs;
    // A late event loop may find that both have run out: the one that was due first counts.
    if (now < Math.min(limitEndsAt, this.#endsAt)) this.#arm(now);
    else this.#onExpire(this.#endsAt <= limitEndsAt ? this.#endsBy : this.#limit);
  }
}
