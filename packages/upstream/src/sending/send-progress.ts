import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '../candidate.ts';
import type { AccountState } from '../choosing/accounts.ts';
import { type SlotWait, waitForSlot } from '../choosing/wait-for-slot.ts';
import { type Failure, failureError } from '../failures/failure.ts';
import { type FailureKind, failureRule } from '../failures/failure-rules.ts';
import type { Turns } from '../health/turns.ts';
import type { Attempt } from '../replies/reply.ts';
import type { ExchangeOptions } from './exchange-options.ts';

/** Failures of a server, whichever key was sent: the channel's other accounts are likely to meet them too. */
const OF_THE_CHANNEL: ReadonlySet<FailureKind> = new Set(['unreachable', 'failed', 'timeout', 'overloaded']);

const BUSY_RETRY_AFTER_SECONDS = 1;

/** A candidate that may be sent the request now: a slot of its account is taken. */
export interface Turn {
  readonly candidate: Candidate;
  readonly state: AccountState;
  readonly waitedMs: number;
}

/** Who takes the candidates: one of the two legs of a hedged request, or its only one. */
export interface Taker {
  /** It runs beside another leg. So it skips candidates that rest. */
  readonly isHedge: boolean;
  /** Ends the wait for a slot. */
  readonly ended: AbortSignal | undefined;
}

interface ProgressOptions {
  /** Best first. */
  readonly candidates: readonly Candidate[];
  readonly turns: Turns<Candidate>;
  readonly stateOf: (candidate: Candidate) => AccountState;
  readonly onWait?: ((wait: SlotWait) => void) | undefined;
  readonly onAttempt: (attempt: Attempt, all: readonly Attempt[]) => void;
}

type Found = Candidate | null | Promise<Candidate | null>;

/**
 * One request on its way through its candidates: which comes next, how many attempts and how much time are left, and what
 * has failed. First come those that are ready, in their order; then other accounts of channels that failed, so that the
 * attempts are not used up before another channel was called; then one that gets a free slot in time; then one that rests.
 */
export class SendProgress {
  readonly attempts: Attempt[] = [];
  readonly #options: ProgressOptions;
  readonly #maxAttempts: number;
  readonly #totalMs: number;
  readonly #endsAt: number;
  #taken = 0;
  #sent = 0;
  #repeated: Candidate | null = null;
  /** Null until a channel fails, which most requests do not see. */
  #failedChannels: Set<string> | null = null;
  #deferred: readonly Candidate[] = [];
  #busy: readonly Candidate[] = [];
  #waitUntilMs: number | null = null;
  #worst: { readonly rank: number; readonly error: GatewayError } | null = null;
  #refusal: GatewayError | null = null;

  constructor(options: ProgressOptions) {
    this.#options = options;
    // All routes of a model have the same bounds.
    const { maxAttempts = 0, totalMs = 0 } = options.candidates[0]?.route.fallback ?? {};
    this.#maxAttempts = maxAttempts;
    this.#totalMs = totalMs;
    this.#endsAt = performance.now() + totalMs;
  }

  /** Null: no candidate is left, or the attempts or the time for them are used up. */
  next(taker: Taker): Turn | null | Promise<Turn | null> {
    if (!this.mayGoOn) return null;
    const found = this.#ready();
    if (found === null || found instanceof Promise) return this.#search(found, taker);
    // Nearly always the first one has a free slot.
    const state = this.#options.stateOf(found);
    const taken = state.slots.take();
    return taken === true ? this.#turn(found, state, 0) : this.#search(found, taker, taken);
  }

  /** @param firstTaken whether the candidate that was found has got a slot; absent: it is not known */
  async #search(first: Found, taker: Taker, firstTaken?: boolean | Promise<boolean>): Promise<Turn | null> {
    const { stateOf, turns } = this.#options;
    let found = first;
    let taken = firstTaken;
    for (;;) {
      const since = performance.now();
      let candidate = (await found) ?? this.#afterFailures();
      if (candidate === null) {
        // Its channel may have begun to rest meanwhile. It is tried nevertheless: a failure adds nothing to its
        // rest, and no request that waited longer is overtaken.
        const turn = await this.#waitForOne(taker, since);
        // Meanwhile the time may be over, or the other leg may have made the last attempts.
        if (turn !== null && this.mayGoOn) return turn;
        if (turn !== null) this.skip(turn);
        candidate = this.mayGoOn && !taker.isHedge ? turns.lastResort(this.#worst !== null) : null;
      }
      if (candidate === null) return null;
      const state = stateOf(candidate);
      const isTaken = await (taken ?? state.slots.take());
      const turn = this.#turn(candidate, state, performance.now() - since);
      if (isTaken) return turn;
      turns.skip(candidate);
      this.#busy = [...this.#busy, candidate];
      this.record({ turn, outcome: 'busy' });
      if (!this.mayGoOn) return null;
      found = this.#ready();
      taken = undefined;
    }
  }

  #turn(candidate: Candidate, state: AccountState, waitedMs: number): Turn {
    this.#taken += 1;
    return { candidate, state, waitedMs };
  }

  /** The candidate to be asked again, or the next one that does not rest and whose channel has not failed. */
  #ready(): Found {
    const repeated = this.#repeated;
    this.#repeated = null;
    if (repeated !== null) return repeated;
    for (;;) {
      const candidate = this.#options.turns.next();
      if (candidate instanceof Promise)
        return candidate.then((one) => (one !== null && this.#defer(one) ? this.#ready() : one));
      if (candidate === null || !this.#defer(candidate)) return candidate;
    }
  }

  /** Whether the candidate is tried later, since another account of its channel failed. */
  #defer(candidate: Candidate): boolean {
    if (!this.#failedChannels?.has(candidate.channel.name)) return false;
    this.#options.turns.skip(candidate);
    this.#deferred = [...this.#deferred, candidate];
    return true;
  }

  #afterFailures(): Candidate | null {
    const [next = null, ...others] = this.#deferred;
    this.#deferred = others;
    return next;
  }

  /**
   * Waits until one of the candidates without a free slot has one. Null: there are none, it took too long (by the most patient
   * of their channels, and by the time for all attempts), or the wait was ended.
   */
  async #waitForOne({ ended }: Taker, since: number): Promise<Turn | null> {
    const { stateOf, onWait } = this.#options;
    const busy = this.#busy;
    if (busy.length === 0 || ended?.aborted) return null;
    this.#waitUntilMs ??= since + Math.max(...busy.map(({ channel }) => channel.maxWaitMs));
    const maxMs = Math.min(this.#leftMs, this.#waitUntilMs - since);
    if (maxMs <= 0) return null;
    // The other leg waits for others.
    this.#busy = [];
    const slots = new Set(busy.map((candidate) => stateOf(candidate).slots));
    const taken = await waitForSlot(slots, { maxMs, signal: ended, onWait });
    const candidate = busy.find((one) => stateOf(one).slots === taken) ?? null;
    this.#busy = [...busy.filter((one) => one !== candidate), ...this.#busy];
    return candidate && this.#turn(candidate, stateOf(candidate), performance.now() - since);
  }

  /** A turn that is not used. */
  skip({ candidate, state }: Turn): void {
    this.#options.turns.skip(candidate);
    state.slots.release();
  }

  /** A second candidate is tried beside this one, if possible one of another channel. */
  foundLate(candidate: Candidate): void {
    this.#failedWith(candidate, 'timeout');
  }

  get hasNext(): boolean {
    return this.mayGoOn && this.#taken < this.#options.candidates.length;
  }

  get mayGoOn(): boolean {
    return this.#sent < this.#maxAttempts && this.#leftMs > 0;
  }

  /** Counts an attempt that begins now, and returns what depends on its position. */
  begin(): Pick<ExchangeOptions, 'isLast' | 'withinMs'> {
    const withinMs = this.#sent === 0 ? this.#totalMs : this.#leftMs;
    this.#sent += 1;
    return { isLast: !this.hasNext, withinMs };
  }

  /** Notes how an attempt went. */
  record({ turn, outcome, ...facts }: Pick<Attempt, 'outcome'> & Partial<Attempt> & { turn: Turn }): void {
    const { candidate, waitedMs } = turn;
    const attempt: Attempt = {
      channel: candidate.channel.name,
      route: candidate.route,
      account: candidate.account.name,
      outcome,
      isHedge: false,
      status: null,
      durationMs: 0,
      waitedMs,
      detail: null,
      ...facts,
    };
    this.attempts.push(attempt);
    this.#options.onAttempt(attempt, this.attempts);
  }

  /** The candidate is asked once more: its next request avoids what it refused. */
  repeat(candidate: Candidate, refusal: GatewayError): void {
    this.#repeated = candidate;
    this.#taken -= 1;
    this.#worst ??= { rank: 0, error: refusal };
  }

  /** A candidate could not be sent the request. */
  refused(error: GatewayError): void {
    this.#refusal ??= error;
  }

  /** An attempt failed in a way that another candidate may not. */
  failed(failure: Failure): void {
    const { candidate, kind } = failure;
    this.#failedWith(candidate, kind);
    const { rank } = failureRule(kind);
    if (this.#worst === null || rank > this.#worst.rank) this.#worst = { rank, error: failureError(failure) };
  }

  /** The last attempt's reply turned out to be no answer when it was read. */
  unread(candidate: Candidate, error: GatewayError): void {
    const last = this.attempts.length - 1;
    const answered = this.attempts[last];
    if (answered !== undefined)
      this.attempts[last] = { ...answered, outcome: 'failed', detail: error.message };
    this.#failedWith(candidate, 'failed');
    const { rank } = failureRule('failed');
    if (this.#worst === null || rank >= this.#worst.rank) this.#worst = { rank, error };
  }

  #failedWith({ channel }: Candidate, kind: FailureKind): void {
    if (channel.accounts.length === 1 || !OF_THE_CHANNEL.has(kind)) return;
    this.#failedChannels ??= new Set();
    this.#failedChannels.add(channel.name);
  }

  /** What the caller gets when nobody has answered: the failure that is best worth a retry. */
  error(): GatewayError {
    if (this.#worst !== null) return this.#worst.error;
    const isUntried = this.attempts.length === 0;
    return this.#refusal !== null && isUntried ? this.#refusal : noChannel(this.#options.candidates);
  }

  /** The first attempt has all of its time, however long it waited for its slot. */
  get #leftMs(): number {
    return this.#sent === 0 ? Number.POSITIVE_INFINITY : this.#endsAt - performance.now();
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
