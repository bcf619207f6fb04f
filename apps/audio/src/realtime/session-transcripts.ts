import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { JsonObject } from '@gateway/contracts/json/json-object';
import { guessedTranscript, reportedTranscript } from './reported-usage.ts';
import type { ResponseAccounts } from './response-accounts.ts';
import { type Transcriber, transcriptionModelIn } from './session-settings.ts';

/** Transcripts that are waited for; a provider that begins more has lost count. */
const MAX_PENDING = 64;

/** Who makes the transcripts of what a session's caller says, and what they cost. */
export class SessionTranscripts {
  readonly #accounts: ResponseAccounts;
  readonly #onIdle: () => void;
  /** Those that the caller may have, by the channel's name. */
  readonly #allowed = new Map<string, Transcriber>();
  /** What was said and is not written yet, by its item. */
  readonly #pending = new Set<unknown>();
  #current: Transcriber | null = null;

  /** @param onIdle called where none is under way any more */
  constructor(accounts: ResponseAccounts, onIdle: () => void) {
    this.#accounts = accounts;
    this.#onIdle = onIdle;
  }

  /** None is under way. */
  get isIdle(): boolean {
    return this.#pending.size === 0;
  }

  allow(transcriber: Transcriber): void {
    this.#allowed.set(transcriber.upstreamName, transcriber);
  }

  /** A `session` that the provider reports. */
  sessionIs(session: JsonObject): void {
    const named = transcriptionModelIn(session);
    this.#current = named === null ? null : (this.#allowed.get(named) ?? this.#current);
  }

  /** The caller's speech is whole. True: a transcript of it begins. */
  begun({ item_id: item }: JsonObject): boolean {
    if (this.#current === null || this.#pending.size >= MAX_PENDING) return false;
    this.#pending.add(item);
    return true;
  }

  /** Charges a transcript. Resolves to why there may be no further ones; null: there may. */
  async made({ item_id: item, usage, transcript }: JsonObject): Promise<GatewayError | null> {
    const reported = reportedTranscript(usage);
    const used = reported ?? guessedTranscript(transcript);
    const isGuessed = reported === null;
    const charging = used === null ? null : this.#accounts.transcript(used, this.#current, isGuessed);
    this.#over(item);
    return charging;
  }

  failed({ item_id: item }: JsonObject): void {
    this.#over(item);
  }

  #over(item: unknown): void {
    if (this.#pending.delete(item) && this.isIdle) this.#onIdle();
  }
}
