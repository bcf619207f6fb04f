import { Deadline, type Limit } from './deadline.ts';
import type { TimeLimits } from './time-limits.ts';

interface ExchangeTimes {
  /** By `performance.now()`. */
  readonly startedAt: number;
  readonly limits: TimeLimits;
  readonly streamed: boolean;
  /** The time within which the first output must have come, whatever the channel allows. */
  readonly withinMs: number;
}

/** Which time limits an exchange has, by how far it has come. */
export class ExchangeDeadline {
  readonly #times: ExchangeTimes;
  readonly #deadline: Deadline;
  readonly #allBy: number;
  /** How long the first output may take from the moment when the request was sent. */
  readonly #outputMs: number;
  /** When the request was sent whole; null: it is not yet. */
  #sentAt: number | null = null;
  #isAwaiting = false;
  #isDraining = false;

  constructor(times: ExchangeTimes, onExpire: (limit: Limit) => void) {
    const { startedAt, limits, streamed, withinMs } = times;
    this.#times = times;
    this.#deadline = new Deadline(startedAt, limits.totalMs, onExpire);
    this.#allBy = startedAt + withinMs;
    this.#outputMs = streamed ? limits.firstOutputMs : limits.wholeOutputMs;
    if (withinMs < limits.totalMs) this.#deadline.endBy('all attempts', this.#allBy);
  }

  get isSent(): boolean {
    return this.#sentAt !== null;
  }

  sending(): void {
    this.#deadline.begin('sending', this.#times.limits.sendingMs);
  }

  sent(): void {
    this.#sentAt = performance.now();
    this.#deadline.begin('first output', this.#outputMs);
  }

  /** Something has moved. */
  touch(): void {
    this.#deadline.touch();
  }

  /**
   * Something of the reply has come that is no output yet, so that silence counts from now on. The first output still has
   * its own limit where it can be recognised. Returns whether it is the first time.
   */
  awaitOutput(isRecognised: boolean): boolean {
    if (this.#isAwaiting) {
      this.touch();
      return false;
    }
    this.#isAwaiting = true;
    const outputBy = (this.#sentAt ?? Number.POSITIVE_INFINITY) + this.#outputMs;
    if (isRecognised && !this.#isDraining && outputBy < this.#allBy)
      this.#deadline.endBy('first output', outputBy);
    this.idle();
    return true;
  }

  /** The consumer has the reply, which has not ended. */
  open(): void {
    const { startedAt, limits } = this.#times;
    if (!this.#isDraining) this.#deadline.endBy('total', startedAt + limits.totalMs);
    this.idle();
  }

  /** Silence counts from now on. */
  idle(): void {
    this.#deadline.begin('idle', this.#times.limits.idleMs);
  }

  /** The caller has left, and the rest is read for so long. */
  drain(drainMs: number): void {
    this.#isDraining = true;
    this.#deadline.endBy('drain', performance.now() + drainMs);
  }

  stop(): void {
    this.#deadline.stop();
  }
}
