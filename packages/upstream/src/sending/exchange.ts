import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { answerFailure } from '../failures/answer-failure.ts';
import {
  brokenFailure,
  connectFailure,
  noAnswerFailure,
  noCredentialsFailure,
  timeoutFailure,
} from '../failures/exchange-failure.ts';
import { type DiscardedReply, type Failure, failureError } from '../failures/failure.ts';
import { type FailureKind, failureRule } from '../failures/failure-rules.ts';
import { MAX_CHECKED_BYTES, ReplyStart } from '../first-output/reply-start.ts';
import type { AttemptResult } from '../health/targets/target-health.ts';
import { ReplyBody } from '../replies/reply-body.ts';
import { Deadline, type Limit } from './deadline.ts';
import { type ExchangeOptions, LOST } from './exchange-options.ts';
import { kindOfProtocol } from './time-limits.ts';

/** How long a provider may take to end a reply whose answer is whole, so that its connection can be used again. */
const READ_OFF_MS = 1000;

/**
 * How far an exchange has come. `awaiting`: headers have not come; `checking`: a reply's start is not known to be an answer;
 * `refused`: an error's body is read; `open`: the consumer has the reply.
 */
type State =
  | { readonly phase: 'awaiting' | 'refused' | 'open' }
  | { readonly phase: 'checking'; readonly start: ReplyStart }
  | {
      readonly phase: 'over';
      /** How it ended, while its consumer may still find that it is no answer. */
      readonly unjudged: 'whole' | 'cancelled' | null;
      /** Runs while what follows a whole answer is read. */
      readonly readOff?: NodeJS.Timeout;
    };

const AWAITING: State = { phase: 'awaiting' };
const REFUSED: State = { phase: 'refused' };
const OPEN: State = { phase: 'open' };

/**
 * One request to one channel: undici's handler, from the dispatch to the last byte. Until its first output is accepted
 * a failure leads to another channel; afterwards the bytes and the end go to `body`.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #deadline: Deadline;
  readonly #answer = Promise.withResolvers<Failure | null>();
  #state: State = AWAITING;
  #controller: Dispatcher.DispatchController | null = null;

  readonly body = new ReplyBody({
    pause: () => this.#controller?.pause(),
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

  constructor(options: ExchangeOptions) {
    this.#options = options;
    const { candidate, streamed, withinMs } = options;
    const limits = candidate.channel.timeLimits[kindOfProtocol(candidate.protocol)];
    const { startedAt } = this;
    const onExpire = (limit: Limit) => this.#expire(limit);
    this.#deadline = new Deadline({ startedAt, limits, streamed, withinMs, onExpire });
    this.body.unbounded = true;
    options.signal?.addEventListener('abort', this.#onLeave);
    options.overtaken?.addEventListener('abort', () => this.overtake(), { once: true });
  }

  /** Resolves once its first output is accepted, with null, or it has failed. Rejects for internal errors only. */
  get answered(): Promise<Failure | null> {
    return this.#answer.promise;
  }

  /**
   * A function, not an object with `handleEvent`: for such an object Node makes an async function, and all that belongs to the
   * request then survived young collection. Measured in the text service: 17 KB of each small request, and a sixth of its time.
   */
  readonly #onLeave = (): void => this.#leave();

  /** Called when the caller leaves: aborts, or reads on for the final usage, by the channel's setting. */
  #leave(): void {
    const { channel } = this.#options.candidate;
    if (channel.onDisconnect === 'cancel' || !this.#deadline.isSent) {
      this.#fail(this.#failure('left', 'the caller left'));
      return;
    }
    this.draining = true;
    this.body.neverPause = true;
    this.#deadline.drain(channel.drainMs);
    this.body.resume();
  }

  /** Called when another candidate has answered the same request. */
  overtake(): void {
    this.#fail(this.#failure('overtaken', 'another channel answered first'));
  }

  get isOver(): boolean {
    return this.#state.phase === 'over';
  }

  /** Called when its account has no credentials to send the request with. */
  unauthorized(error: unknown): void {
    this.#fail(noCredentialsFailure(this.#options.candidate, error));
  }

  /** Called when the body of its request cannot be read, which is no provider's failure. */
  abandon(error: unknown): void {
    this.#answer.reject(error);
    this.#fail(this.#failure('failed', 'the request body could not be read', error));
  }

  /** Called when its consumer found that it is no answer. */
  unreadable(detail: string): void {
    const failure = noAnswerFailure(this.#options.candidate, this.#lost('failed'), this.status, detail);
    const state = this.#state;
    if (state.phase !== 'over') {
      this.#fail(failure);
      return;
    }
    if (state.unjudged !== null)
      this.#report(state.unjudged === 'whole' ? 'reading' : 'end', outcomeOf(failure));
    this.#state = { ...state, unjudged: null };
  }

  /** Called when its consumer has the whole answer. A provider that leaves its connection open has not failed. */
  letGo(): void {
    if (this.#state.phase !== 'open') return;
    const cut = () => this.#controller?.abort(new Error('the answer is whole'));
    this.#end({ phase: 'over', unjudged: 'whole', readOff: setTimeout(cut, READ_OFF_MS) });
    this.#report('end', 'ok');
  }

  /** Called when its consumer takes no more. */
  cancel(): void {
    this.#fail(this.#failure('left', 'the reply was cancelled'), 'cancelled');
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#state.phase === 'over') controller.abort(new Error('the exchange is over'));
    else this.#deadline.sending();
  }

  onBodySent(): void {
    this.#deadline.touch();
  }

  onRequestSent(): void {
    this.#deadline.sent();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.headersAt = performance.now();
    this.status = status;
    this.headers = headers;
    if (this.#state.phase === 'over') return;
    const { candidate, checkOutput, holdsStart, streamed } = this.#options;
    const check = { protocol: candidate.protocol, checkOutput, holdsStart, streamed };
    const isRefusal = status < 200 || status > 299;
    this.#state = isRefusal ? REFUSED : { phase: 'checking', start: new ReplyStart(status, headers, check) };
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    const state = this.#state;
    if (state.phase === 'over' || chunk.length === 0) return;
    this.#take(state, this.body.push(chunk));
  }

  #take(state: Exclude<State, { phase: 'over' }>, read: Buffer): void {
    if (state.phase === 'open') this.#deadline.touch();
    else if (state.phase === 'checking') this.#check(state.start, read);
    else if (this.body.waitingBytes > MAX_CHECKED_BYTES) this.#refuse(this.status, '');
  }

  onResponseEnd(): void {
    const rest = this.#state.phase === 'over' ? null : this.body.rest();
    if (rest !== null && this.#state.phase !== 'over') this.#take(this.#state, rest);
    const state = this.#state;
    if (state.phase === 'over') clearTimeout(state.readOff);
    else if (state.phase === 'checking') this.#check(state.start, null);
    else if (state.phase === 'refused') this.#refuse(this.status, this.body.peek().toString('utf8'));
    if (this.#state.phase !== 'open') return;
    this.#end({ phase: 'over', unjudged: 'whole' });
    this.#report('end', 'ok');
    this.body.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const { candidate } = this.#options;
    const state = this.#state;
    if (state.phase === 'over') clearTimeout(state.readOff);
    else if (this.#controller === null) this.#fail(connectFailure(candidate, error));
    else if (state.phase === 'refused') this.#refuse(this.status, '');
    else this.#fail(brokenFailure(candidate, this.#lost('failed'), this.status || null, error), 'broken');
  }

  /** What a failure is after the whole request was sent, when the work may have been done. */
  #lost(kind: 'failed' | 'timeout'): FailureKind {
    return this.#deadline.isSent ? LOST[this.#options.work][kind] : kind;
  }

  #expire(limit: Limit): void {
    const { candidate, isLast } = this.#options;
    const state = this.#state;
    // While the reader pauses, the provider is not idle.
    if (limit === 'idle' && this.body.paused) this.#deadline.idle();
    else if (limit === 'first output' && isLast && state.phase === 'checking' && state.start.hasBegun)
      // No other candidate can be called, and the provider is at work: its start events go out, and the caller waits on.
      this.#open(false);
    else if (limit === 'drain')
      this.#fail(this.#failure('left', 'the caller left, and reading on took too long'));
    else {
      const phase = state.phase === 'open' ? 'open' : 'checking';
      this.#fail(timeoutFailure(candidate, this.#lost('timeout'), this.status || null, limit, phase));
    }
  }

  /** Checks what has arrived; null: the reply has ended. */
  #check(start: ReplyStart, chunk: Buffer | null): void {
    const verdict = start.check(this.body, chunk);
    this.headers = start.headers;
    if (verdict === 'wait') this.#deadline.awaitOutput(start.isHeld);
    else if (verdict === 'accept') this.#open(chunk === null);
    else if ('broken' in verdict) this.unreadable(verdict.broken);
    else this.#refuse(verdict.status, verdict.body);
  }

  /** From here on the reply is its consumer's. */
  #open(ended: boolean): void {
    this.#state = OPEN;
    this.body.unbounded = false;
    this.firstOutputAt = performance.now();
    if (!ended) this.#deadline.open();
    this.#report('first output', 'ok');
    this.#answer.resolve(null);
  }

  /** The provider answered with an error, by its status or in a 2xx reply. */
  #refuse(status: number, body: string): void {
    const failure = answerFailure({ status, headers: this.headers, body }, this.#options);
    const isBegun = this.#state.phase === 'checking' && this.#state.start.hasBegun;
    // The caller's own mistake: a caller of the same protocol reads it in the stream as the provider reports it.
    if (isBegun && !failureRule(failure.kind).elsewhere) this.#open(false);
    else this.#fail(failure);
  }

  #failure(kind: FailureKind, detail: string, cause?: unknown): Failure {
    return { kind, candidate: this.#options.candidate, status: this.status || null, detail, cause };
  }

  /** Ends the exchange, and with it the request to the provider. What has arrived is still read if it is `broken`. */
  #fail(failure: Failure, how: 'cancelled' | 'broken' | null = null): void {
    const { phase } = this.#state;
    if (phase === 'over') return;
    const wasOpen = phase === 'open';
    const discarded = phase === 'checking' ? this.#discarded() : null;
    this.#end({ phase: 'over', unjudged: wasOpen && how === 'cancelled' ? how : null });
    this.#controller?.abort(new Error('the exchange is over'));
    if (wasOpen) {
      // A provider may have given up because the consumer was slower.
      this.#report('end', this.body.hasPaused ? 'neutral' : outcomeOf(failure));
      this.body.fail(failureError(failure), how === 'broken' ? 'after what is waiting' : 'at once');
    } else {
      this.#report('first output', outcomeOf(failure));
      this.#answer.resolve(discarded === null ? failure : { ...failure, discarded });
    }
  }

  /** What its consumer does not get, for what it says of its cost; null for nothing. */
  #discarded(): DiscardedReply | null {
    const { body, headers } = this;
    if (body.waitingBytes === 0) return null;
    return { candidate: this.#options.candidate, headers, bytes: body.peek() };
  }

  #report(stage: AttemptResult['stage'], outcome: AttemptResult['outcome']): void {
    this.#options.health.report(this.#options.candidate, { startedAtMs: this.startedAt, stage, outcome });
  }

  /** Ends the exchange once, for any reason. */
  #end(state: State): void {
    this.#state = state;
    this.#deadline.stop();
    this.#options.signal?.removeEventListener('abort', this.#onLeave);
    this.#options.client.release();
    this.#options.slot.release();
  }
}

/** What a failure means for the health of its channel. */
const outcomeOf = ({ trouble }: Failure): AttemptResult['outcome'] => trouble ?? 'neutral';
