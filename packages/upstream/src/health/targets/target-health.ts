import { causeRule, type Trouble } from '../causes/causes.ts';
import type { Cooldown } from '../cooldown.ts';
import type { Rest } from '../rests/rest.ts';
import type { Target } from './target.ts';

/** How an attempt went. */
export interface AttemptResult {
  /** When it began, by `performance.now()`. */
  readonly startedAtMs: number;
  /**
   * `first output`: it was accepted, or the attempt failed before; `end`: of a reply whose first output was accepted; `reading`:
   * a reply that had ended well turned out to be no answer.
   */
  readonly stage: 'first output' | 'end' | 'reading';
  /**
   * `neutral`: it shows nothing about the provider, because the caller left or was refused for its own request. Else why
   * the provider failed.
   */
  readonly outcome: 'ok' | 'neutral' | Trouble;
}

/** The state of one target: its recent failures, its rest, and its probe. All times are by `performance.now()`. */
export class TargetHealth {
  readonly target: Target;
  rest: Rest | null = null;
  /** Until then a probing request is on its way, of this replica or another. */
  probedUntilMs = 0;
  #consecutive = 0;
  /** Replies in a row that broke after their first output. */
  #broken = 0;
  /** The same count before the last whole reply, which may turn out to be no answer. */
  #brokenBefore = 0;
  #windowStartedAtMs = Number.NEGATIVE_INFINITY;
  #ok = 0;
  #failed = 0;
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #level = -1;
  #restedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(target: Target) {
    this.target = target;
  }

  /** Whether requests should go elsewhere. */
  isResting(nowMs: number): boolean {
    return this.rest !== null && (nowMs < this.rest.untilMs || nowMs < this.probedUntilMs);
  }

  /** Its rest is over, and no request has shown yet how it does. */
  isUnproven(nowMs: number): boolean {
    return this.rest !== null && nowMs >= this.rest.untilMs;
  }

  /** Whether there is nothing to remember. */
  isForgotten(nowMs: number, { windowMs, maxRestMs }: Cooldown): boolean {
    return (
      this.rest === null &&
      this.#consecutive === 0 &&
      this.#broken === 0 &&
      nowMs - this.#windowStartedAtMs > windowMs &&
      nowMs - this.#restedUntilMs > maxRestMs
    );
  }

  /** Failures in a row. */
  get consecutive(): number {
    return Math.max(this.#consecutive, this.#broken);
  }

  /** A reply has come whole. */
  completed(): void {
    this.#brokenBefore = this.#broken;
    this.#broken = 0;
  }

  /** A first output was accepted. */
  answered(nowMs: number, cooldown: Cooldown): void {
    this.#answeredAtMs = nowMs;
    this.#consecutive = 0;
    this.#roll(nowMs, cooldown);
    this.#ok += 1;
  }

  /** Counts a failure. Returns whether it should rest now. */
  failed(
    { cause }: Trouble,
    { startedAtMs, stage }: AttemptResult,
    nowMs: number,
    cooldown: Cooldown,
  ): boolean {
    const { begins, excusable } = causeRule(cause);
    if (excusable && stage === 'first output' && this.#answeredAtMs >= startedAtMs) return false;
    if (stage === 'first output') this.#consecutive += 1;
    else this.#broken += 1;
    this.#roll(nowMs, cooldown);
    if (stage === 'reading') this.#takeBack();
    this.#failed += 1;
    if (begins === 'at once') return true;
    const all = this.#ok + this.#failed;
    return (
      this.consecutive >= cooldown.consecutiveFailures ||
      (all >= cooldown.minRequests && this.#failed >= all * cooldown.failureRate)
    );
  }

  /** A reply was counted as good that was none. */
  #takeBack(): void {
    this.#broken = Math.max(this.#broken, this.#brokenBefore + 1);
    this.#ok = Math.max(0, this.#ok - 1);
  }

  /** The level of a rest that begins now: it grows while the target rests again soon after it was woken. */
  nextLevel(nowMs: number, { maxRestMs }: Cooldown): number {
    const isSoon = this.rest !== null || nowMs - this.#restedUntilMs <= maxRestMs;
    return isSoon ? this.#level + 1 : 0;
  }

  begin(rest: Rest): void {
    this.rest = rest;
    this.probedUntilMs = 0;
    this.#level = rest.level;
  }

  end(nowMs: number): void {
    this.rest = null;
    this.probedUntilMs = 0;
    this.#consecutive = 0;
    this.#restedUntilMs = nowMs;
    this.#windowStartedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Begins another window once the last one is over. */
  #roll(nowMs: number, { windowMs }: Cooldown): void {
    if (nowMs - this.#windowStartedAtMs <= windowMs) return;
    this.#windowStartedAtMs = nowMs;
    this.#ok = 0;
    this.#failed = 0;
  }
}
