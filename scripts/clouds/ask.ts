import type { Account, Channel } from '@gateway/upstream/configuration/configuration';
import { fetchBy } from '@gateway/upstream/connecting/fetch-by';
import { createCredentialSource } from '@gateway/upstream/credentials/credential-source';
import { withoutSecrets } from '@gateway/upstream/failures/clean-message';

/** One small request. */
export interface Asked {
  /** Below the channel's origin. */
  readonly path: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Heard {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Its text as JSON; an empty object where it is none. */
  readonly json: Readonly<Record<string, unknown>>;
}

export type Ask = (asked: Asked) => Promise<Heard>;

const WITHIN_MS = 120_000;

/** Sends requests to a channel as the gateway would: with its first account's credentials, and by its way out. */
export function askOf({ origin, network }: Channel, account: Account): Ask {
  const { auth, headers: own } = account.secrets;
  const source = auth && createCredentialSource(auth, { network, onFetched: () => undefined });
  const fetch = fetchBy(network);
  return async ({ path, method = 'POST', headers = {}, body }) => {
    const text = body === undefined ? null : JSON.stringify(body);
    const plain = { 'content-type': 'application/json', ...headers, ...Object.fromEntries(own) };
    const final = { method, origin, path, headers: Object.entries(plain).flat(), body: text };
    const added = source === null ? [] : (await source.authorize(final)).headers;
    const authorized: Record<string, string> = { ...plain };
    for (let at = 0; at + 1 < added.length; at += 2) authorized[added[at] ?? ''] = added[at + 1] ?? '';
    const signal = AbortSignal.timeout(WITHIN_MS);
    const reply = await fetch(origin + path, { method, headers: authorized, body: text, signal });
    const said = withoutSecrets(await reply.text(), { account });
    return { status: reply.status, headers: reply.headers, text: said, json: objectIn(said) };
  };
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function objectIn(text: string): Heard['json'] {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
