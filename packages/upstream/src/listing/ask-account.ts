import { errorMessage } from '@gateway/contracts/error-message';
import type { Account, Channel } from '../configuration/configuration.ts';
import { fetchBy } from '../connecting/fetch-by.ts';
import { CredentialSources, credentialReason } from '../credentials/credential-sources.ts';
import { withoutSecrets } from '../failures/clean-message.ts';
import { operatorAdvice } from '../failures/operator-advice.ts';
import { readProviderError } from '../failures/provider-error.ts';

/** Why an account cannot be used. Reasons are on one line, and without the account's secrets. */
export interface Failure {
  readonly outcome: 'refused' | 'failed' | 'unreachable';
  readonly reason: string;
}

/** One small request of nobody's. */
interface Question {
  readonly method: 'GET' | 'POST';
  /** Below the channel's origin. */
  readonly path: string;
  readonly body: string | null;
}

/** A reply that is an error has its status too. */
type Answer =
  | { readonly outcome: 'answered'; readonly text: string }
  | (Failure & { readonly status?: number });

const MAX_REASON_CHARS = 300;
const TIMEOUT_MS = 10_000;

/** Asks an account's provider, with its credentials and by its channel's way. Never rejects, and takes 10 s at most. */
export async function askAccount(
  channel: Channel,
  account: Account,
  { method, path, body }: Question,
): Promise<Answer> {
  const { origin, network } = channel;
  const failed = (outcome: Failure['outcome'], reason: string): Failure => ({
    outcome,
    reason: withoutSecrets(reason.replaceAll(/\s+/g, ' '), { account }).slice(0, MAX_REASON_CHARS),
  });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const headers = [
    ...['accept', 'application/json', 'anthropic-version', '2023-06-01'],
    ...(body === null ? [] : ['content-type', 'application/json']),
    ...account.secrets.headers.flat(),
  ];
  try {
    const credentials = new CredentialSources({ fetchMs: TIMEOUT_MS }).of(channel, account);
    const request = { method, origin, path, headers, body };
    headers.push(...((await credentials?.authorize(request))?.headers ?? []));
  } catch (error) {
    return { outcome: 'refused', reason: credentialReason(error, account) };
  }
  try {
    const reply = await fetchBy(network)(origin + path, { method, headers: pairsOf(headers), body, signal });
    const text = await reply.text();
    if (!reply.ok) return { ...failed(...refusalOf(reply.status, text)), status: reply.status };
    return { outcome: 'answered', text };
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
