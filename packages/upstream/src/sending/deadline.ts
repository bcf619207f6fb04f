import type { TimeLimits } from './time-limits.ts';

/** Which of a channel's time limits ran out. */
export type Limit = 'sending' | 'first output' | 'idle' | 'total' | 'all attempts' | 'drain';

interface DeadlineOptions {
  /** By `performance.now()`. */
  readonly startedAt: number;
  readonly limits: TimeLimits;
  readonly streamed: boolean;
  /** The time within which the first output must have come, whatever the channel allows. */
  readonly withinMs: number;
  readonly onExpire: (limit: Limit) => void;
}

/**
 * The time limits of one exchange, by how far it has come, on a single timer. Activity only stores the time; a timer that
 * fires too early is set again for the rest. So a short exchange costs one timer, for any number of chunks.
 */
export class Deadline {
  readonly #options: DeadlineOptions;
  /** How long the first output may take from the moment when the request was sent. */
  readonly #outputMs: number;
  /** When the request was sent whole; null: it is not yet. */
  #sentAt: number | null = null;
  #isAwaiting = false;
  #isDraining = false;
  /** The limit that activity restarts, and the one that nothing moves. */
  #limit: Limit = 'sending';
  #limitMs: number;
  #since: number;
  #endsBy: Limit = 'total';
  #endsAt: number;
  #timer: NodeJS.Timeout | null = null;
  #armedFor = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor(options: DeadlineOptions) {
    const { startedAt, limits, streamed, withinMs } = options;
    this.#options = options;
    this.#outputMs = streamed ? limits.firstOutputMs : limits.wholeOutputMs;
    this.#since = startedAt;
    this.#limitMs = limits.totalMs;
    this.#endsAt = startedAt + limits.totalMs;
    if (withinMs < limits.totalMs) this.#endBy('all attempts', startedAt + withinMs);
  }

  get isSent(): boolean {
    return this.#sentAt !== null;
  }

  /** Something has moved. */
  touch(): void {
    this.#since = performance.now();
  }

  sending(): void {
    this.#begin('sending', this.#options.limits.sendingMs);
  }

  sent(): void {
    this.#begin('first output', this.#outputMs);
    this.#sentAt = this.#since;
  }

  /**
   * Something of the reply has come that is no output yet, so that silence counts from now on. The first output still has
   * its own limit where it can be recognised.
   */
  awaitOutput(isRecognised: boolean): void {
    if (this.#isAwaiting) {
      this.touch();
      return;
    }
    this.#isAwaiting = true;
    const { startedAt, withinMs } = this.#options;
    const outputBy = (this.#sentAt ?? Number.POSITIVE_INFINITY) + this.#outputMs;
    if (isRecognised && !this.#isDraining && outputBy < startedAt + withinMs)
      this.#endBy('first output', outputBy);
    this.idle();
  }

  /** The consumer has the reply, which has not ended. */
  open(): void {
    const { startedAt, limits } = this.#options;
    if (!this.#isDraining) this.#endBy('total', startedAt + limits.totalMs);
    this.idle();
  }

  /** Silence counts from now on. */
  idle(): void {
    this.#begin('idle', this.#options.limits.idleMs);
  }

  /** The caller has left, and the rest is read for so long. */
  drain(drainMs: number): void {
    this.#isDraining = true;
    this.#endBy('drain', performance.now() + drainMs);
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #begin(limit: Limit, limitMs: number): void {
    this.#limit = limit;
    this.#limitMs = limitMs;
    this.touch();
    this.#arm(this.#since);
  }

  #endBy(limit: Limit, endsAt: number): void {
    this.#endsBy = limit;
    this.#endsAt = endsAt;
    this.#arm(performance.now());
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
    else this.#options.onExpire(this.#endsAt <= limitEndsAt ? this.#endsBy : this.#limit);
  }
}
