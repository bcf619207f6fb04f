import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '../candidate.ts';
import { DeferredAccounts } from '../choosing/deferred-accounts.ts';
import type { RequestSlots } from '../choosing/request-slots.ts';
import { type Failure, failureError } from '../failures/failure.ts';
import { failureRule } from '../failures/failure-rules.ts';
import type { Turns } from '../health/turns.ts';
import type { Attempt } from '../replies/reply.ts';
import type { AttemptOptions } from './attempt.ts';

export interface EarlierAttempts {
  readonly count: number;
  /** When the request was sent first, by `performance.now()`. */
  readonly beganAt: number;
}

const BUSY_RETRY_AFTER_SECONDS = 1;

interface ProgressOptions {
  /** Best first. */
  readonly candidates: readonly Candidate[];
  readonly earlier?: EarlierAttempts | undefined;
}

/** Who takes the candidates: one of the two legs of a hedged request, or its only one. */
export interface Taker {
  readonly slots: RequestSlots;
  /** It runs beside another leg. So it skips candidates that rest. */
  readonly isHedge: boolean;
}

/** One request on its way through its candidates: which comes next, how much time is left, and what has failed. */
export class SendProgress {
  readonly attempts: Attempt[] = [];
  readonly #candidates: readonly Candidate[];
  readonly #turns: Turns<Candidate>;
  readonly #deferred = new DeferredAccounts();
  #taken = 0;
  #sent = 0;
  /** The next attempt is not the request's first. */
  #isAnother: boolean;
  readonly #maxAttempts: number;
  readonly #totalMs: number;
  readonly #endsAt: number;
  #worst: Failure | null = null;
  #refusal: GatewayError | null = null;

  constructor({ candidates, earlier }: ProgressOptions, turns: Turns<Candidate>) {
    this.#candidates = candidates;
    this.#turns = turns;
    // All routes of a model have the same bounds.
    const { maxAttempts = 0, totalMs = 0 } = candidates[0]?.route.fallback ?? {};
    this.#maxAttempts = maxAttempts - (earlier?.count ?? 0);
    this.#totalMs = totalMs;
    this.#endsAt = (earlier?.beganAt ?? performance.now()) + totalMs;
    this.#isAnother = earlier !== undefined;
  }

  /** Null: no candidate is left, or the attempts or the time for them are used up. */
  next(taker: Taker): Candidate | null | Promise<Candidate | null> {
    if (!this.#mayGoOn) return null;
    const turn = this.#turns.next();
    return turn instanceof Promise
      ? turn.then((one) => this.#handOut(one, taker))
      : this.#handOut(turn, taker);
  }

  #handOut(turn: Candidate | null, taker: Taker): Candidate | null | Promise<Candidate | null> {
    if (turn === null) return this.#late(taker);
    if (this.#deferred.defer(turn)) {
      this.skip(turn);
      return this.next(taker);
    }
    this.#taken += 1;
    return turn;
  }

  /**
   * The next candidate after all that are ready: other accounts of channels that failed, then one that gets a
   * free slot in time, then one that rests.
   */
  async #late({ slots, isHedge }: Taker): Promise<Candidate | null> {
    // Its channel may have begun to rest meanwhile. It is tried nevertheless: a failure adds nothing to its
    // rest, and no request that waited longer is overtaken.
    const ready = this.#deferred.next() ?? (await slots.waitForOne(this.#leftMs));
    // Meanwhile the time may be over, or the other leg may have made the last attempts.
    if (!this.#mayGoOn) return null;
    const candidate = ready ?? (isHedge ? null : this.#turns.lastResort(this.#worst !== null));
    if (candidate !== null) this.#taken += 1;
    return candidate;
  }

  /** A candidate that was handed out is not sent the request. */
  skip(candidate: Candidate): void {
    this.#turns.skip(candidate);
  }

  /** A second candidate is tried beside this one, if possible one of another channel. */
  foundLate(candidate: Candidate): void {
    this.#deferred.add(candidate, 'timeout');
  }

  get hasNext(): boolean {
    return this.#mayGoOn && this.#taken < this.#candidates.length;
  }

  /** Counts an attempt that begins now, and returns what depends on its position. */
  begin(): Pick<AttemptOptions, 'isLast' | 'withinMs'> {
    const withinMs = this.#isAnother ? this.#leftMs : this.#totalMs;
    this.#sent += 1;
    this.#isAnother = true;
    return { isLast: !this.hasNext, withinMs };
  }

  /** A candidate could not be sent the request. */
  refused(error: GatewayError): void {
    this.#refusal ??= error;
  }

  /** An attempt failed in a way that another candidate may not. */
  failed(failure: Failure): void {
    this.#deferred.add(failure.candidate, failure.kind);
    if (this.#worst === null || failureRule(failure.kind).rank > failureRule(this.#worst.kind).rank)
      this.#worst = failure;
  }

  /** What the caller gets when nobody has answered: the failure that is best worth a retry. */
  error(): GatewayError {
    if (this.#worst !== null) return failureError(this.#worst);
    return this.#refusal !== null && this.attempts.length === 0 ? this.#refusal : noChannel(this.#candidates);
  }

  get #mayGoOn(): boolean {
    return this.#sent < this.#maxAttempts && this.#leftMs > 0;
  }

  /** The first attempt has all of its time, however long it waited for its slot. */
  get #leftMs(): number {
    return this.#isAnother ? this.#endsAt - performance.now() : Number.POSITIVE_INFINITY;
  }
}

function noChannel(candidates: readonly Candidate[]): GatewayError {
  const [first] = candidates;
  const what = first
    ? `All channels for the model '${first.requestedModel}' are`
    : 'No channel for this model is';
  return new GatewayError('no_available_channel', {
    message: `${what} ${first ? 'busy' : 'available'} at the moment. Please try again shortly.`,
    retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS,
  });
}
