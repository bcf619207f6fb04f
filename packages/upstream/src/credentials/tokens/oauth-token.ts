import { jsonIn } from '@gateway/contracts/json/json-object';
import { z } from 'zod';
import type { AuthSettings } from '../../configuration/auth-entry.ts';
import { fetchBy } from '../../connecting/fetch-by.ts';
import type { TokenWay } from '../credential-source.ts';
import type { Fetched } from '../renewed-value.ts';
import { secretOf } from './client-secret.ts';

type OauthSettings = Extract<AuthSettings, { type: 'oauth' }>;

/** Of a token whose server does not say how long it lives. */
const DEFAULT_LIFE_SECONDS = 300;

const Reply = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]+$/),
  expires_in: z.coerce.number().positive().catch(DEFAULT_LIFE_SECONDS),
});
const Refused = z.object({
  error: z.string().optional().catch(undefined),
  error_description: z.string().optional().catch(undefined),
});

/** RFC 6749, 4.4: client credentials. */
export async function fetchOauthToken(
  settings: OauthSettings,
  { network, signal, now }: TokenWay & { readonly now: () => number },
): Promise<Fetched<string>> {
  const { tokenUrl, clientId, clientAuth = 'basic', scope, parameters } = settings;
  const secret = await secretOf(settings);
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  };
  if (scope !== undefined) form.set('scope', scope);
  if (clientAuth === 'basic' && clientId !== undefined && secret !== undefined)
    headers.authorization = `Basic ${Buffer.from(`${encoded(clientId)}:${encoded(secret)}`).toString('base64')}`;
  else {
    if (clientId !== undefined) form.set('client_id', clientId);
    if (secret !== undefined) form.set('client_secret', secret);
  }
  for (const [name, value] of Object.entries(parameters ?? {})) form.set(name, value);

  const askedAtMs = now();
  const answer = await fetchBy(network)(tokenUrl, { method: 'POST', headers, body: form, signal });
  const body = jsonIn(await answer.text());
  const token = answer.ok ? Reply.safeParse(body).data : undefined;
  if (token === undefined) throw new Error(`${new URL(tokenUrl).host} ${refusalIn(answer.status, body)}`);
  return { value: token.access_token, expiresAtMs: askedAtMs + token.expires_in * 1000 };
}

/** As RFC 6749, 2.3.1 has it for both halves of the header. */
const encoded = (part: string): string => new URLSearchParams([['', part]]).toString().slice(1);

/** The server's words may quote the request, and only a code is known to be none of it. */
function refusalIn(status: number, body: unknown): string {
  const { error, error_description: words } = Refused.safeParse(body).data ?? {};
  const why = [error, words].filter(Boolean).join(': ').slice(0, 300);
  return `answered ${status} without a token${why === '' ? '' : ` (${why})`}`;
}
