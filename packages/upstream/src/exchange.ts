import type { IncomingHttpHeaders } from 'node:http';
import type { Dialect } from '@gateway/contracts/gateway-error';
import type { Dispatcher } from 'undici';
import { answerFailure } from './answer-failure.ts';
import type { Candidate } from './catalog.ts';
import type { ChannelClient } from './channel-client.ts';
import type { OutputCheck } from './check-first-output.ts';
import { Deadline, type Limit } from './deadline.ts';
import { type Failure, failureError } from './failure.ts';
import type { FailureKind } from './failures.ts';
import { ReplyBody } from './reply-body.ts';
import { brokenFailure, connectFailure } from './transport-failure.ts';

/** The most bytes read of an error's body, or of an output that cannot be checked yet. */
const MAX_JUDGED_BYTES = 65_536;
/** The first output's time limit for streamed replies if the channel has none. */
const FIRST_OUTPUT_MS = 60_000;

export interface ExchangeOptions {
  readonly candidate: Candidate;
  readonly client: ChannelClient;
  readonly dialect: Dialect;
  readonly work: 'free' | 'paid';
  readonly streamed: boolean;
  readonly namesObject: boolean;
  readonly translated: boolean;
  readonly checkOutput: OutputCheck;
  readonly signal: AbortSignal | undefined;
}

/**
 * One request to one channel: undici's handler, from the dispatch to the last byte. Until its first output is accepted
 * a failure leads to another channel; afterwards the bytes and the end go to `body`.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #deadline: Deadline;
  readonly #settle: (failure: Failure | null) => void;
  /** `refused`: an error's body is read; `open`: the caller has the reply. */
  #phase: 'checking' | 'refused' | 'open' | 'over' = 'checking';
  #controller: Dispatcher.DispatchController | null = null;
  #sent = false;

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

  constructor(options: ExchangeOptions, settle: (failure: Failure | null) => void) {
    this.#options = options;
    this.#settle = settle;
    const { totalMs } = options.candidate.channel.timeouts;
    this.#deadline = new Deadline(this.startedAt, totalMs, (limit) => this.#expire(limit));
    options.signal?.addEventListener('abort', this);
  }

  /** When the caller leaves: aborts, or reads on for the final usage, by the channel's setting. */
  handleEvent(): void {
    const { channel } = this.#options.candidate;
    if (channel.onDisconnect === 'cancel' || !this.#sent) {
      this.fail('left', 'the caller left');
      return;
    }
    this.draining = true;
    this.body.neverPause = true;
    this.#deadline.endWithin('drain', channel.drainMs);
    this.body.resume();
  }

  /** Ends the exchange, and with it the request to the provider. */
  fail(kind: FailureKind, detail: string, cause?: unknown): void {
    this.#fail({ kind, candidate: this.#options.candidate, status: this.status || null, detail, cause });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#phase === 'over') controller.abort(new Error('the exchange is over'));
    else this.#deadline.begin('sending', this.#options.candidate.channel.timeouts.idleMs);
  }

  onBodySent(): void {
    this.#deadline.touch();
  }

  onRequestSent(): void {
    this.#sent = true;
    const { firstOutputMs, totalMs } = this.#options.candidate.channel.timeouts;
    this.#deadline.begin(
      'first output',
      firstOutputMs ?? (this.#options.streamed ? FIRST_OUTPUT_MS : totalMs),
    );
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
    else if (this.#phase === 'checking') this.#check(false);
    else if (this.body.waitingBytes > MAX_JUDGED_BYTES) this.#refuse(this.status, '');
  }

  onResponseEnd(): void {
    if (this.#phase === 'checking') this.#check(true);
    else if (this.#phase === 'refused') this.#refuse(this.status, this.body.peek().toString('utf8'));
    if (this.#phase !== 'open') return;
    this.#over();
    this.body.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#phase === 'over') return;
    const { candidate } = this.#options;
    if (this.#controller === null) this.#fail(connectFailure(candidate, error));
    else if (this.#phase === 'refused') this.#refuse(this.status, '');
    else {
      const failure = brokenFailure(candidate, this.#lost('failed'), this.status || null, error);
      this.#fail(failure, 'after what is waiting');
    }
  }

  /** After the whole request was sent, paid work may have been done. */
  #lost(kind: FailureKind): FailureKind {
    return this.#options.work === 'paid' && this.#sent ? 'outcome-unknown' : kind;
  }

  #expire(limit: Limit): void {
    const { idleMs } = this.#options.candidate.channel.timeouts;
    // While the reader pauses, the provider is not idle.
    if (limit === 'idle' && this.body.paused) this.#deadline.begin('idle', idleMs);
    else if (limit === 'drain') this.fail('left', 'the caller left, and reading on took too long');
    else this.fail(this.#lost('timeout'), `the time limit "${limit}" ran out`);
  }

  #check(ended: boolean): void {
    const { status, headers } = this;
    const verdict = this.#options.checkOutput({ status, headers, bytes: this.body.peek(), ended });
    if (verdict === 'wait' && !ended && this.body.waitingBytes < MAX_JUDGED_BYTES) return;
    if (typeof verdict === 'object') {
      this.#refuse(verdict.status, verdict.body);
      return;
    }
    this.#phase = 'open';
    this.firstOutputAt = performance.now();
    if (!ended) this.#deadline.begin('idle', this.#options.candidate.channel.timeouts.idleMs);
    this.#settle(null);
  }

  /** The provider answered with an error, by its status or in a 2xx reply. */
  #refuse(status: number, body: string): void {
    const answer = { status, headers: this.headers, body };
    this.#fail(answerFailure(answer, this.#options));
  }

  #fail(failure: Failure, when: 'after what is waiting' | 'at once' = 'at once'): void {
    if (this.#phase === 'over') return;
    const wasOpen = this.#phase === 'open';
    this.#over();
    this.#controller?.abort(new Error('the exchange is over'));
    if (wasOpen) this.body.fail(failureError(failure), when);
    else this.#settle(failure);
  }

  /** Ends the exchange once, for any reason. */
  #over(): void {
    this.#phase = 'over';
    this.#deadline.stop();
    this.#options.signal?.removeEventListener('abort', this);
    this.#options.client.release();
  }
}
