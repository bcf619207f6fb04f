import { GatewayError } from '@gateway/contracts/gateway-error';
import { isObject, type JsonObject } from '@gateway/contracts/json/json-object';
import { lookUp } from '@gateway/contracts/look-up';
import type { UsageOutcome } from '@gateway/contracts/usage/usage-record';
import { reportedResponse } from './reported-usage.ts';
import { isFree, type ResponseAccount, type ResponseAccounts } from './response-accounts.ts';
import { brokenOff } from './session-content.ts';
import type { SessionFacts } from './session-facts.ts';

/** Responses that may be requested and not begun; a provider makes one after the other. */
const MAX_REQUESTED = 8;
/** So much sound that no response has followed is counted by itself, and what is left when the session is over. */
const MAX_UNANSWERED_MS = 60_000;
/** Responses under way: a provider that begins more has lost count. */
const MAX_ACTIVE = 16;
/** Ids of responses that have ended, which a provider may report once more. */
const MAX_ENDED = 64;

/** Characters that are gathered of a response, as far as it came. */
const MAX_SAID = 256 * 1024;

const OUTCOMES: Readonly<Record<string, UsageOutcome>> = {
  completed: 'ok',
  incomplete: 'ok',
  cancelled: 'cancelled',
  failed: 'failed',
};

/** A response under way. */
interface Active {
  /** Its account, as soon as it is reserved. */
  readonly account: Promise<ResponseAccount>;
  readonly openedAtMs: number;
  firstByteMs: number | null;
  spokenTokens: number;
  /** Its words, where they are gathered. */
  said: string;
  isCancelled: boolean;
}

interface ResponsesOptions {
  readonly accounts: ResponseAccounts;
  readonly facts: SessionFacts;
  /** Called for a response that the provider began and that may not be: it is to be cancelled. */
  readonly onRefused: (error: GatewayError, responseId: string) => void;
  /** Called for sound that no response followed and that was more than there may be. */
  readonly onSoundRefused: (error: GatewayError) => void;
  /** Called where none is under way any more. */
  readonly onIdle: () => void;
}

/** The responses of one session: each is reserved before it is requested, or when it begins, and settled when it ends. */
export class SessionResponses {
  readonly #options: ResponsesOptions;
  readonly #requested: ResponseAccount[] = [];
  readonly #active = new Map<string, Active>();
  readonly #ended = new Set<string>();
  /** What is being reserved or settled. */
  readonly #underway = new Set<Promise<void>>();
  #isClosed = false;
  count = 0;

  constructor(options: ResponsesOptions) {
    this.#options = options;
  }

  /** The provider makes one. */
  get isUnderWay(): boolean {
    return this.#active.size > 0;
  }

  get isIdle(): boolean {
    return this.#active.size === 0 && this.#requested.length === 0;
  }

  /** Some are requested, and the provider makes none. */
  get isAwaited(): boolean {
    return this.#active.size === 0 && this.#requested.length > 0;
  }

  /** Gives back what is requested and does not begin. One that begins nevertheless is reserved again when it does. */
  giveUp(): void {
    if (this.#requested.length === 0) return;
    for (const account of this.#requested.splice(0)) account.release();
    if (this.isIdle) this.#options.onIdle();
  }

  /** The responses under way that are to be cancelled, each once. */
  cancel(): readonly string[] {
    const ids: string[] = [];
    for (const [id, active] of this.#active) {
      if (!active.isCancelled) ids.push(id);
      active.isCancelled = true;
    }
    return ids;
  }

  /** Reserves a response that the caller requests, as it is asked for. @throws {GatewayError} where it may not be requested */
  async request(eventId: string | null, asked: JsonObject): Promise<void> {
    const { accounts, facts } = this.#options;
    if (this.#requested.length >= MAX_REQUESTED) {
      throw new GatewayError('rate_limited', {
        message: `${MAX_REQUESTED} responses have been requested and have not begun. Wait for 'response.created'.`,
        retryAfterSeconds: 1,
      });
    }
    const reserving = accounts.reserve({
      ...{ isCallers: true, eventId, asked },
      largest: facts.largest(asked.max_output_tokens ?? asked.max_response_output_tokens),
    });
    await this.#awaited(
      reserving.then((account) => {
        if (this.#isClosed) account.release();
        else this.#requested.push(account);
      }),
    );
  }

  /** The provider has begun a response. False: it has begun too many. */
  begun(event: JsonObject): boolean {
    const id = idIn(event);
    if (id === null || this.#active.has(id) || this.#ended.has(id)) return true;
    // Nobody would settle it. What its provider reports of it is charged all the same.
    if (this.#isClosed) return true;
    if (this.#active.size >= MAX_ACTIVE) return false;
    this.count += 1;
    const requested = this.#requested.shift();
    const account = requested === undefined ? this.#reserveBegun(id) : Promise.resolve(requested);
    const openedAtMs = requested?.openedAtMs ?? performance.now();
    this.#active.set(id, {
      account,
      openedAtMs,
      firstByteMs: null,
      spokenTokens: 0,
      said: '',
      isCancelled: false,
    });
    return true;
  }

  async #reserveBegun(id: string): Promise<ResponseAccount> {
    const { accounts, facts, onRefused } = this.#options;
    const largest = facts.largest(undefined);
    try {
      return await accounts.reserve({ isCallers: false, eventId: null, asked: {}, largest });
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const active = this.#active.get(id);
      if (active !== undefined) active.isCancelled = true;
      onRefused(error, id);
      return accounts.unreserved(largest);
    }
  }

  /** The caller's sound has come: where much has and no response follows, it is counted without one. */
  async heard(): Promise<void> {
    const { accounts, facts } = this.#options;
    if (facts.heardMs < MAX_UNANSWERED_MS || !this.isIdle) return;
    const refusal = await accounts.sound(facts.takeHeardMs());
    if (refusal !== null) this.#options.onSoundRefused(refusal);
  }

  /** A piece of output has come. @param soundBytes of sound in it, in base64 */
  output(soundBytes: number): void {
    const newest = [...this.#active.values()].at(-1);
    if (newest === undefined) return;
    newest.firstByteMs ??= Math.round(performance.now() - newest.openedAtMs);
    newest.spokenTokens += this.#options.facts.spokenTokens(soundBytes);
  }

  /** Words of a response have come. */
  said(event: unknown): void {
    const { response_id: id, delta } = isObject(event) ? event : {};
    const active = typeof id === 'string' ? this.#active.get(id) : undefined;
    if (active !== undefined && typeof delta === 'string' && active.said.length < MAX_SAID)
      active.said += delta.slice(0, MAX_SAID);
  }

  /** A response has ended, with what it used. */
  done(event: JsonObject): void {
    const { accounts, facts } = this.#options;
    const id = idIn(event);
    if (id === null || this.#ended.has(id)) return;
    const response = isObject(event.response) ? event.response : {};
    const reported = reportedResponse(response.usage);
    const outcome = lookUp(OUTCOMES, String(response.status)) ?? 'ok';
    if (reported !== null) facts.responded(reported);
    const active = this.#active.get(id);
    const account = active?.account ?? accounts.unreserved(facts.largest(undefined));
    const failure =
      outcome === 'failed'
        ? new GatewayError('upstream_failed', {
            message: 'The upstream failed to make this response.',
            source: 'upstream',
          })
        : undefined;
    const spokenTokens = active?.spokenTokens ?? 0;
    // The sound of one that costs nothing counts with what comes next.
    const heardMs = isFree({ outcome, reported, spokenTokens }) ? 0 : facts.takeHeardMs();
    this.#end(id, account, {
      ...{ outcome, reported, heardMs, spokenTokens },
      firstByteMs: active?.firstByteMs ?? null,
      answer: response,
      ...(failure && { failure }),
    });
  }

  #end(
    id: string,
    account: ResponseAccount | Promise<ResponseAccount>,
    end: Parameters<ResponseAccount['settle']>[0],
  ): void {
    this.#active.delete(id);
    this.#ended.add(id);
    if (this.#ended.size > MAX_ENDED) for (const oldest of this.#ended) if (this.#ended.delete(oldest)) break;
    void this.#awaited(Promise.resolve(account).then((reserved) => reserved.settle(end)));
    if (this.isIdle) this.#options.onIdle();
  }

  /** Has the end of the session wait for it. */
  #awaited(work: Promise<void>): Promise<void> {
    this.#underway.add(work);
    const over = () => this.#underway.delete(work);
    work.then(over, over);
    return work;
  }

  /** The provider refused an event: a response that was requested by it does not begin. */
  refused(eventId: string | null): void {
    const at = this.#requested.findIndex((account) => account.eventId === eventId);
    if (at === -1) return;
    // One that begins nevertheless is reserved again when it does.
    const [account] = this.#requested.splice(at, 1);
    account?.release();
    if (this.isIdle) this.#options.onIdle();
  }

  /** The session is over: what has begun is settled as far as it is known, and what has not is given back. */
  async close(outcome: UsageOutcome): Promise<void> {
    this.#isClosed = true;
    for (const account of this.#requested.splice(0)) account.release();
    for (const [id, { account, firstByteMs, spokenTokens, said }] of [...this.#active])
      this.#end(id, account, {
        ...{ outcome, reported: null, spokenTokens, firstByteMs, answer: brokenOff(said) },
        heardMs: this.#options.facts.takeHeardMs(),
      });
    const unansweredMs = this.#options.facts.takeHeardMs();
    if (unansweredMs > 0) await this.#options.accounts.sound(unansweredMs);
    await Promise.allSettled(this.#underway);
    await this.#options.accounts.charged();
  }
}

function idIn({ response }: JsonObject): string | null {
  const id = isObject(response) ? response.id : undefined;
  return typeof id === 'string' ? id : null;
}
