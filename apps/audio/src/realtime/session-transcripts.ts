import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { JsonObject } from '@gateway/contracts/json/json-object';
import { reportedTranscript } from './reported-usage.ts';
import type { ResponseAccounts } from './response-accounts.ts';
import { type Transcriber, transcriptionModelIn } from './session-settings.ts';

/** Who makes the transcripts of what a session's caller says, and what they cost. */
export class SessionTranscripts {
  readonly #accounts: ResponseAccounts;
  /** Those that the caller may have, by the channel's name. */
  readonly #allowed = new Map<string, Transcriber>();
  #current: Transcriber | null = null;

  constructor(accounts: ResponseAccounts) {
    this.#accounts = accounts;
  }

  allow(transcriber: Transcriber): void {
    this.#allowed.set(transcriber.upstreamName, transcriber);
  }

  /** A `session` that the provider reports. */
  sessionIs(session: JsonObject): void {
    const named = transcriptionModelIn(session);
    this.#current = named === null ? null : (this.#allowed.get(named) ?? this.#current);
  }

  /** Charges a transcript. Resolves to why there may be no further ones; null: there may. */
  async made({ usage }: JsonObject): Promise<GatewayError | null> {
    const used = reportedTranscript(usage);
    return used === null ? null : this.#accounts.transcript(used, this.#current);
  }
}
