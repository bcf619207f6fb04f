import type { AuthSettings } from './auth-entry.ts';

/**
 * The secrets that an account of a channel sends with every request: its key and the channel's configured headers; or where its
 * credentials come from.
 * Kept in private fields, so that neither a logger, JSON nor the console prints them.
 */
export class ChannelSecrets {
  readonly #headers: readonly (readonly [name: string, value: string])[];
  readonly #values: readonly string[];
  readonly #auth: AuthSettings | null;
  /** Lower-case names of `headers`; a caller's headers of these names are replaced. */
  readonly names: ReadonlySet<string>;

  /** `values` are the bare secrets of the whole channel, which may not occur in anything shown to people. */
  constructor(
    headers: readonly (readonly [string, string])[],
    values: readonly string[],
    auth: AuthSettings | null = null,
  ) {
    this.#headers = headers;
    this.#values = values;
    this.#auth = auth;
    this.names = new Set(headers.map(([name]) => name));
  }

  /** Header pairs, lower-case names: the provider's authentication and what the configuration adds. */
  get headers(): readonly (readonly [name: string, value: string])[] {
    return this.#headers;
  }

  get values(): readonly string[] {
    return this.#values;
  }

  /** Where its credentials come from; null: its headers have a key, or need none. */
  get auth(): AuthSettings | null {
    return this.#auth;
  }

  toJSON(): string {
    return '[secret]';
  }
}
