import { errorMessage } from '@gateway/contracts/error-message';
import type { AuthSettings } from '../configuration/auth-entry.ts';
import type { Account, Channel } from '../configuration/configuration.ts';
import { isSameWay, type Network } from '../connecting/network.ts';
import { withoutSecrets } from '../failures/clean-message.ts';
import { credentialAdvice } from './credential-advice.ts';
import { type CredentialSource, createCredentialSource } from './credential-source.ts';
import { describeAuth } from './describe-auth.ts';

/** What this process knows of an account's credentials after it asked for them. */
export interface CredentialReport {
  readonly channel: string;
  readonly account: string;
  /** Where they come from, without secrets. */
  readonly source: string;
  /** Milliseconds since 1970; null: there are none, or they do not expire. */
  readonly expiresAtMs: number | null;
  /** Why none could be got; null: they were. */
  readonly failure: string | null;
}

interface CredentialSourcesOptions {
  readonly onReport?: ((report: CredentialReport) => void) | undefined;
  readonly now?: (() => number) | undefined;
  readonly fetchMs?: number | undefined;
}

interface SharedSource {
  readonly key: string;
  readonly origin: string;
  readonly network: Network;
  readonly source: CredentialSource;
  /** The accounts that use it, in the present configuration. */
  users: { readonly channel: Channel; readonly account: Account }[];
}

const MAX_REASON_CHARS = 300;

/** One source for all accounts with the same settings. */
export class CredentialSources {
  readonly #options: CredentialSourcesOptions;
  #shared: SharedSource[] = [];

  constructor(options: CredentialSourcesOptions) {
    this.#options = options;
  }

  /** Null: the account has a key, or needs none. */
  of(channel: Channel, account: Account): CredentialSource | null {
    const { auth } = account.secrets;
    return auth === null ? null : this.#sharedOf(channel, auth).source;
  }

  /** Keeps the sources of a new configuration, and has those that are new get their first credentials. */
  replace(channels: Iterable<Channel>): void {
    const before = new Set(this.#shared);
    for (const shared of before) shared.users = [];
    for (const channel of channels)
      for (const account of channel.accounts) {
        const { auth } = account.secrets;
        if (auth !== null) this.#sharedOf(channel, auth).users.push({ channel, account });
      }
    this.#shared = this.#shared.filter(({ users }) => users.length > 0);
    for (const shared of this.#shared) if (!before.has(shared)) void shared.source.warm();
  }

  #sharedOf({ origin, network }: Channel, auth: AuthSettings): SharedSource {
    const key = JSON.stringify(auth);
    const known = this.#shared.find((one) => one.key === key && isSameWay(one.network, network, one.origin));
    if (known !== undefined) return known;
    const { now, fetchMs } = this.#options;
    const onFetched = (failure: Error | null) => this.#report(shared, describeAuth(auth), failure);
    const source = createCredentialSource(auth, { network, now, fetchMs, onFetched });
    const shared: SharedSource = { key, origin, network, source, users: [] };
    this.#shared.push(shared);
    return shared;
  }

  #report({ source, users }: SharedSource, description: string, failure: Error | null): void {
    for (const { channel, account } of users)
      this.#options.onReport?.({
        channel: channel.name,
        account: account.name,
        source: description,
        expiresAtMs: source.expiresAtMs,
        failure: failure && credentialReason(failure, account),
      });
  }
}

/** Why there are no credentials and what to do, on one line and without the account's secrets. */
export function credentialReason(error: unknown, account: Account): string {
  const causes = error instanceof AggregateError ? error.errors.map(errorMessage) : [];
  const words = [errorMessage(error), ...causes].filter((text) => text !== '').join('; ');
  const reason = withoutSecrets(words.replaceAll(/\s+/g, ' '), { account }).slice(0, MAX_REASON_CHARS);
  const advice = credentialAdvice(words);
  return advice === '' ? reason : `${reason.replace(/[.:;\s]+$/, '')}: ${advice}`;
}
