import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { answerFailure } from '../failures/answer-failure.ts';
import {
  brokenFailure,
  connectFailure,
  noAnswerFailure,
  timeoutFailure,
} from '../failures/exchange-failure.ts';
import { type Failure, failureError } from '../failures/failure.ts';
import { type FailureKind, failureRule } from '../failures/failure-rules.ts';
import type { Verdict } from '../first-output/check-first-output.ts';
import { type HeldStart, holdStart } from '../first-output/held-start.ts';
import { trulyTyped } from '../first-output/true-type.ts';
import { ReplyBody } from '../replies/reply-body.ts';
import { Deadline, type Limit } from './deadline.ts';
import {
  type ExchangeOptions,
  MAX_CHECKED_BYTES,
  MAX_HELD_BYTES,
  MAX_WHOLE_BYTES,
  READ_OFF_MS,
  type Work,
} from './exchange-options.ts';
import { kindOfProtocol, type TimeLimits } from './time-limits.ts';

/** What is not known to have been done is not sent again where it is paid; and not after a time limit where it is charged. */
const LOST: Readonly<Record<Work, Readonly<Record<'failed' | 'timeout', FailureKind>>>> = {
  free: { failed: 'failed', timeout: 'timeout' },
  charged: { failed: 'failed', timeout: 'late' },
  paid: { failed: 'outcome-unknown', timeout: 'outcome-unknown' },
};

/**
 * One request to one channel: undici's handler, from the dispatch to the last byte. Until its first output is accepted
 * a failure leads to another channel; afterwards the bytes and the end go to `body`.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #deadline: Deadline;
  readonly #limits: TimeLimits;
  readonly #settle: (failure: Failure | null) => void;
  /** `refused`: an error's body is read; `open`: the caller has the reply. */
  #phase: 'checking' | 'refused' | 'open' | 'over' = 'checking';
  #controller: Dispatcher.DispatchController | null = null;
  #sent = false;
  /** The times by which this channel, and any channel, must have sent its first output. */
  #outputBy = Number.POSITIVE_INFINITY;
  readonly #allBy: number;
  /** Reads the start of a stream whose start events are held back. */
  #held: HeldStart | null = null;
  /** The most bytes that are waited for. */
  #maxCheckedBytes = MAX_CHECKED_BYTES;
  /** A part of the reply has come that is no output yet. */
  #isAwaiting = false;
  /** Whether `headers` have the type that the content has. */
  #isTyped = false;
  /** The check has no verdict before the reply has ended. */
  #waitsForEnd = false;
  /** How it ended, while its consumer may still find that it is no answer. */
  #unjudged: 'whole' | 'cancelled' | null = null;
  /** Runs while what follows a whole answer is read. */
  #readOff: NodeJS.Timeout | undefined;
  /** The consumer was slower than the provider, which may have given up because of it. */
  #hasPaused = false;

  readonly body = new ReplyBody({
    pause: () => {
      this.#hasPaused = true;
      this.#controller?.pause();
    },
    resume: () => {
      this.#deadline.touch();
      this.#controller?.resume();
    },
  });
  readonly startedAt = performance.now();
  headersAt = 0;
  firstOutputAt = 0;
  status = 0;
  headers: IncomingHttpHeaders = {};
  draining = false;

  constructor(options: ExchangeOptions, settle: (failure: Failure | null) => void) {
    this.#options = options;
    this.#settle = settle;
    this.#limits = options.candidate.channel.timeLimits[kindOfProtocol(options.candidate.protocol)];
    const { totalMs } = this.#limits;
    this.#deadline = new Deadline(this.startedAt, totalMs, (limit) => this.#expire(limit));
    this.#allBy = this.startedAt + options.withinMs;
    if (options.withinMs < totalMs) this.#deadline.endBy('all attempts', this.#allBy);
    this.body.unbounded = true;
    options.signal?.addEventListener('abort', this.#onLeave);
  }

  /**
   * A function, not an object with `handleEvent`: for such an object Node makes an async function, and all that belongs to the
   * request then survived young collection. Measured in the text service: 17 KB of each small request, and a sixth of its time.
   */
  readonly #onLeave = (): void => this.#leave();

  /** Called when the caller leaves: aborts, or reads on for the final usage, by the channel's setting. */
  #leave(): void {
    const { channel } = this.#options.candidate;
    if (channel.onDisconnect === 'cancel' || !this.#sent) {
      this.fail('left', 'the caller left');
      return;
    }
    this.draining = true;
    this.body.neverPause = true;
    this.#deadline.endBy('drain', performance.now() + channel.drainMs);
    this.body.resume();
  }

  /** Ends the exchange, and with it the request to the provider. */
  fail(kind: FailureKind, detail: string, cause?: unknown): void {
    this.#fail({ kind, candidate: this.#options.candidate, status: this.status || null, detail, cause });
  }

  /** Called when its consumer found that it is no answer. */
  unreadable(detail: string): void {
    const failure = this.#noAnswer(detail);
    if (this.#phase !== 'over') this.#fail(failure);
    else if (this.#unjudged === 'whole') this.#options.onUnreadable(this, failure);
    else if (this.#unjudged === 'cancelled') this.#options.onEnd(this, failure);
    this.#unjudged = null;
  }

  /** Called when its consumer has the whole answer. A provider that leaves its connection open has not failed. */
  letGo(): void {
    if (this.#phase !== 'open') return;
    this.#over();
    this.#unjudged = 'whole';
    this.#options.onEnd(this, null);
    this.#readOff = setTimeout(() => this.#controller?.abort(new Error('the answer is whole')), READ_OFF_MS);
  }

  /** Called when its consumer takes no more. */
  cancel(): void {
    if (this.#phase === 'open') this.#unjudged = 'cancelled';
    this.fail('left', 'the reply was cancelled');
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#phase === 'over') controller.abort(new Error('the exchange is over'));
    else this.#deadline.begin('sending', this.#limits.sendingMs);
  }

  onBodySent(): void {
    this.#deadline.touch();
  }

  onRequestSent(): void {
    this.#sent = true;
    const { firstOutputMs, wholeOutputMs } = this.#limits;
    const limitMs = this.#options.streamed ? firstOutputMs : wholeOutputMs;
    this.#outputBy = performance.now() + limitMs;
    this.#deadline.begin('first output', limitMs);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.headersAt = performance.now();
    this.status = status;
    this.headers = headers;
    if (status < 200 || status > 299) this.#phase = 'refused';
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase === 'over' || chunk.length === 0) return;
    this.body.push(chunk);
    if (this.#phase === 'open') this.#deadline.touch();
    else if (this.#phase === 'checking') this.#check(chunk);
    else if (this.body.waitingBytes > MAX_CHECKED_BYTES) this.#refuse(this.status, '');
  }

  onResponseEnd(): void {
    clearTimeout(this.#readOff);
    if (this.#phase === 'checking') this.#check(null);
    else if (this.#phase === 'refused') this.#refuse(this.status, this.body.peek().toString('utf8'));
    if (this.#phase !== 'open') return;
    this.#over();
    this.#unjudged = 'whole';
    this.#options.onEnd(this, null);
    this.body.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    clearTimeout(this.#readOff);
    if (this.#phase === 'over') return;
    const { candidate } = this.#options;
    if (this.#controller === null) this.#fail(connectFailure(candidate, error));
    else if (this.#phase === 'refused') this.#refuse(this.status, '');
    else {
      const failure = brokenFailure(candidate, this.#lost('failed'), this.status || null, error);
      this.#fail(failure, 'after what is waiting');
    }
  }

  /** What a failure is after the whole request was sent, when the work may have been done. */
  #lost(kind: 'failed' | 'timeout'): FailureKind {
    return this.#sent ? LOST[this.#options.work][kind] : kind;
  }

  #expire(limit: Limit): void {
    const { idleMs } = this.#limits;
    // While the reader pauses, the provider is not idle.
    if (limit === 'idle' && this.body.paused) this.#deadline.begin('idle', idleMs);
    // No other candidate can be called, and the provider is at work: its start events go out, and the caller waits on.
    else if (limit === 'first output' && this.#held?.hasBegun && this.#options.isLast) this.#open(false);
    else if (limit === 'drain') this.fail('left', 'the caller left, and reading on took too long');
    else this.#fail(this.#timeout(limit));
  }

  #timeout(limit: Limit): Failure {
    const { candidate } = this.#options;
    const phase = this.#phase === 'open' ? 'open' : 'checking';
    return timeoutFailure(candidate, this.#lost('timeout'), this.status || null, limit, phase);
  }

  #noAnswer(detail: string): Failure {
    return noAnswerFailure(this.#options.candidate, this.#lost('failed'), this.status, detail);
  }

  /** Checks what has arrived; null: the reply has ended. */
  #check(chunk: Buffer | null): void {
    const verdict = this.#verdictOn(chunk);
    if (verdict === 'wait-for-end') {
      this.#waitsForEnd = true;
      this.#maxCheckedBytes = MAX_WHOLE_BYTES;
    }
    const mayWait = chunk !== null && this.body.waitingBytes < this.#maxCheckedBytes;
    if (verdict === 'wait' || verdict === 'wait-for-end') {
      if (mayWait) this.#awaitMore();
      else this.#open(chunk === null);
    } else if (verdict === 'accept') this.#open(chunk === null);
    else if ('broken' in verdict) this.#fail(this.#noAnswer(verdict.broken));
    else this.#refuse(verdict.status, verdict.body);
  }

  #verdictOn(chunk: Buffer | null): Verdict {
    if (!this.#isTyped) return this.#firstVerdict(chunk === null);
    if (this.#held !== null) return chunk === null ? this.#held.end() : this.#held.push(chunk);
    if (this.#waitsForEnd && chunk !== null) return 'wait-for-end';
    const { status, headers } = this;
    return this.#options.checkOutput({ status, headers, bytes: this.body.peek(), ended: chunk === null });
  }

  /** Finds out what kind of reply it is, and checks what of it has arrived. */
  #firstVerdict(ended: boolean): Verdict {
    const bytes = this.body.peek();
    const headers = trulyTyped(this.headers, bytes, ended);
    if (headers === null) return 'wait';
    this.#isTyped = true;
    this.headers = headers;
    const { holdsStart, candidate } = this.#options;
    if (holdsStart) this.#held = holdStart(candidate.protocol, headers);
    if (this.#held === null) return this.#verdictOn(ended ? null : bytes);
    this.#maxCheckedBytes = MAX_HELD_BYTES;
    const verdict = this.#held.push(bytes);
    return ended && verdict === 'wait' ? this.#held.end() : verdict;
  }

  /** Something has come, so that silence counts from now on; the first output still has its own limit where it can be recognised. */
  #awaitMore(): void {
    if (this.#isAwaiting) {
      this.#deadline.touch();
      return;
    }
    this.#isAwaiting = true;
    const isBounded = this.#held !== null && !this.draining && this.#outputBy < this.#allBy;
    if (isBounded) this.#deadline.endBy('first output', this.#outputBy);
    this.#deadline.begin('idle', this.#limits.idleMs);
  }

  /** From here on the reply is its consumer's. */
  #open(ended: boolean): void {
    this.#phase = 'open';
    this.#held = null;
    this.body.unbounded = false;
    this.firstOutputAt = performance.now();
    if (!ended) {
      const { idleMs, totalMs } = this.#limits;
      if (!this.draining) this.#deadline.endBy('total', this.startedAt + totalMs);
      this.#deadline.begin('idle', idleMs);
    }
    this.#settle(null);
  }

  /** The provider answered with an error, by its status or in a 2xx reply. */
  #refuse(status: number, body: string): void {
    const answer = { status, headers: this.headers, body };
    const failure = answerFailure(answer, this.#options);
    // The caller's own mistake: a caller of the same protocol reads it in the stream as the provider reports it.
    if (this.#held?.hasBegun && !failureRule(failure.kind).elsewhere) this.#open(false);
    else this.#fail(failure);
  }

  #fail(failure: Failure, when: 'after what is waiting' | 'at once' = 'at once'): void {
    if (this.#phase === 'over') return;
    const wasOpen = this.#phase === 'open';
    this.#over();
    this.#controller?.abort(new Error('the exchange is over'));
    if (wasOpen) {
      const { trouble: _, ...excused } = failure;
      this.#options.onEnd(this, this.#hasPaused ? excused : failure);
      this.body.fail(failureError(failure), when);
    } else this.#settle(failure);
  }

  /** Ends the exchange once, for any reason. */
  #over(): void {
    this.#phase = 'over';
    this.#deadline.stop();
    this.#options.signal?.removeEventListener('abort', this.#onLeave);
    this.#options.client.release();
    this.#options.slot.release();
  }
}
