import type { IncomingHttpHeaders } from 'node:http';
import type { AuthSettings } from '../configuration/auth-entry.ts';
import type { Network } from '../connecting/network.ts';
import { AwsSource } from './aws/aws-source.ts';
import { BearerSource } from './bearer-source.ts';
import { RenewedValue } from './renewed-value.ts';
import { fetchEntraToken } from './tokens/entra-token.ts';
import { fetchGoogleToken } from './tokens/google-token.ts';
import { fetchOauthToken } from './tokens/oauth-token.ts';

/** How a source reaches its identity provider. */
export interface TokenWay {
  readonly network: Network;
  /** Ends what takes too long. */
  readonly signal: AbortSignal;
}

/** A request as it is sent, to the last byte of its body. */
export interface FinalRequest {
  readonly method: string;
  readonly origin: string;
  /** With its query. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** Null: none. `streamed`: it is not in memory. */
  readonly body: Buffer | string | 'streamed' | null;
}

/** What authorizes one request. */
export interface Authorization {
  /** Names and values in turn, which the request gets beside its own. */
  readonly headers: readonly string[];
  /** The token or the keys. */
  readonly by: unknown;
}

export interface Refusal {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Where the credentials of an account come from, in place of a key. */
export interface CredentialSource {
  /** At once while there are valid credentials. Rejects with why there are none, in words without secrets. */
  authorize(request: FinalRequest): Authorization | Promise<Authorization>;
  /** Whether the answer refuses credentials that may have expired. Decided before its body is read. */
  mayHaveExpired(status: number): boolean;
  /** Gets other credentials after such an answer. Resolves to whether the request is worth sending once more. */
  renew(refusal: Refusal, used: Authorization): Promise<boolean>;
  /** Gets credentials before anybody needs them. Never rejects. */
  warm(): Promise<void>;
  readonly expiresAtMs: number | null;
}

export interface SourceOptions {
  /** The way to a token's server. */
  readonly network: Network;
  readonly onFetched: (failure: Error | null) => void;
  /** Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** How long it may take to get credentials. */
  readonly fetchMs?: number | undefined;
}

const FETCH_MS = 10_000;

/** The package of a cloud is loaded when its credentials are first needed. */
export function createCredentialSource(settings: AuthSettings, options: SourceOptions): CredentialSource {
  const { network, onFetched, now = Date.now, fetchMs = FETCH_MS } = options;
  const shared = { now, fetchMs, onFetched };
  switch (settings.type) {
    case 'aws':
      return new AwsSource(settings, { ...shared, network });
    case 'google': {
      const { quotaProject } = settings;
      const headers = quotaProject === undefined ? [] : ['x-goog-user-project', quotaProject];
      return new BearerSource(
        new RenewedValue({ ...shared, fetch: (signal) => fetchGoogleToken(settings, { network, signal }) }),
        headers,
      );
    }
    case 'entra':
      return new BearerSource(
        new RenewedValue({ ...shared, fetch: (signal) => fetchEntraToken(settings, { network, signal }) }),
      );
    case 'oauth':
      return new BearerSource(
        new RenewedValue({
          ...shared,
          fetch: (signal) => fetchOauthToken(settings, { network, signal, now }),
        }),
      );
  }
}
