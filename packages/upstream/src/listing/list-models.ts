import { errorMessage } from '@gateway/contracts/error-message';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { z } from 'zod';
import type { Account, Channel } from '../configuration/configuration.ts';
import type { ModelList } from '../configuration/presets/preset.ts';
import { fetchBy } from '../connecting/fetch-by.ts';
import { CredentialSources, credentialReason } from '../credentials/credential-sources.ts';
import { withoutSecrets } from '../failures/clean-message.ts';
import { operatorAdvice } from '../failures/operator-advice.ts';
import { readProviderError } from '../failures/provider-error.ts';

/** What an account's provider says when it is asked for its models. */
export type ListedModels =
  | { readonly outcome: 'listed'; readonly names: readonly string[] }
  /** Its provider has no list for keys of this kind, so nothing was asked. */
  | { readonly outcome: 'unlisted' }
  /** The key is valid, and the list has no names that requests can use. */
  | { readonly outcome: 'accepted' }
  /** Reasons are on one line, and without the account's secrets. */
  | { readonly outcome: 'refused' | 'failed' | 'unreachable'; readonly reason: string };

interface Failure {
  readonly outcome: 'refused' | 'failed' | 'unreachable';
  readonly reason: string;
}

const MAX_REASON_CHARS = 300;
const TIMEOUT_MS = 10_000;

/** The members of a list that some servers leave out where it is empty. */
const FORMS = {
  data: z
    .object({ data: z.array(z.object({ id: z.string() })).nullable() })
    .transform(({ data }) => (data ?? []).map(({ id }) => id)),
  models: z
    .object({ models: z.array(z.object({ name: z.string() })).nullable() })
    // Google's names stand below `models/`.
    .transform(({ models }) => (models ?? []).map(({ name }) => name.replace(/^models\//, ''))),
} as const satisfies Record<ModelList['form'], z.ZodType<string[]>>;

/**
 * Asks an account's provider for its models: the cheapest request that needs a valid key. Never rejects, and takes 10 s at most.
 */
export async function listModels(channel: Channel, account: Account): Promise<ListedModels> {
  const { modelList, origin, network } = channel;
  if (modelList === null) return { outcome: 'unlisted' };
  const failed = (outcome: Failure['outcome'], reason: string): Failure => ({
    outcome,
    reason: withoutSecrets(reason.replaceAll(/\s+/g, ' '), { account }).slice(0, MAX_REASON_CHARS),
  });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const path = modelList.path;
  const headers = [
    ...['accept', 'application/json', 'anthropic-version', '2023-06-01'],
    ...account.secrets.headers.flat(),
  ];
  try {
    const credentials = new CredentialSources({ fetchMs: TIMEOUT_MS }).of(channel, account);
    const request = { method: 'GET', origin, path, headers, body: null };
    headers.push(...((await credentials?.authorize(request))?.headers ?? []));
  } catch (error) {
    return { outcome: 'refused', reason: credentialReason(error, account) };
  }
  try {
    const reply = await fetchBy(network)(origin + path, { method: 'GET', headers: pairsOf(headers), signal });
    const body = await reply.text();
    // An address in between may lead to deployments alone.
    if (modelList.isCatalogue && reply.status === 404) return { outcome: 'unlisted' };
    if (!reply.ok) return failed(...refusalOf(reply.status, body));
    const { data: names } = FORMS[modelList.form].safeParse(jsonIn(body));
    if (names !== undefined && modelList.isCatalogue) return { outcome: 'accepted' };
    return names === undefined
      ? failed('failed', 'It answered with something else than a list of models: check baseUrl and provider.')
      : { outcome: 'listed', names };
  } catch (error) {
    const reason = signal.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : errorMessage(error);
    return failed('unreachable', `${origin} cannot be reached: ${reason}`);
  }
}

const pairsOf = (list: readonly string[]): Record<string, string> =>
  Object.fromEntries(list.flatMap((name, at) => (at % 2 === 0 ? [[name, list[at + 1] ?? '']] : [])));

/** The provider's own words, and what to do where these do not say it. */
function refusalOf(status: number, body: string): [Failure['outcome'], string] {
  const error = readProviderError(body);
  const advice = operatorAdvice(status, error);
  const words = error.message.replace(/[.:\s]+$/, '') || 'no reason given';
  const isRefused = status === 401 || status === 403;
  return [isRefused ? 'refused' : 'failed', `${status}: ${words}${advice === '' ? '' : `; ${advice}`}`];
}
