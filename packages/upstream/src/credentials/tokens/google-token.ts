import type { AuthSettings } from '../../configuration/auth-entry.ts';
import { fetchBy } from '../../connecting/fetch-by.ts';
import { DIRECT } from '../../connecting/network.ts';
import type { TokenWay } from '../credential-source.ts';
import type { Fetched } from '../renewed-value.ts';

type GoogleSettings = Extract<AuthSettings, { type: 'google' }>;

const CLOUD_PLATFORM = 'https://www.googleapis.com/auth/cloud-platform';
const HOUR_SECONDS = 3600;

/**
 * A token by Google's package: of the application default credentials, or of a file of any of its kinds. The file is read for
 * every token, since it rotates.
 */
export async function fetchGoogleToken(
  { credentialsFile, impersonate, scope = CLOUD_PLATFORM }: GoogleSettings,
  way: TokenWay,
): Promise<Fetched<string>> {
  const { GoogleAuth, Impersonated } = await import('google-auth-library');
  const scopes = scope.split(' ');
  const transporterOptions = { fetchImplementation: googleFetch(way) };
  const own = impersonate === undefined ? scopes : [CLOUD_PLATFORM];
  const source = await new GoogleAuth({
    scopes: own,
    clientOptions: { transporterOptions },
    ...(credentialsFile !== undefined && { keyFilename: credentialsFile }),
  }).getClient();
  const client =
    impersonate === undefined
      ? source
      : new Impersonated({
          sourceClient: source,
          targetPrincipal: impersonate,
          targetScopes: scopes,
          delegates: [],
          lifetime: HOUR_SECONDS,
          transporterOptions,
        });
  const { token } = await client.getAccessToken();
  if (!token) throw new Error('Google answered without a token');
  return { value: token, expiresAtMs: client.credentials.expiry_date ?? null };
}

/** Of metadata servers, which no proxy leads to. */
const IS_LINK_LOCAL = /^(?:169\.254\.\d+\.\d+|\[fd[0-9a-f:]+\]|metadata\.google\.internal)$/;

/** The requests of Google's package, by the channel's way out. */
function googleFetch({ network, signal }: TokenWay): typeof fetch {
  const [outside, near] = [fetchBy(network), fetchBy(DIRECT)];
  return async (input, init) => {
    const request = new Request(input, init);
    const { url, method } = request;
    const body = method === 'GET' ? null : await request.text();
    const headers = Object.fromEntries(request.headers);
    const send = IS_LINK_LOCAL.test(new URL(url).hostname) ? near : outside;
    return send(url, { method: method === 'GET' ? method : 'POST', headers, body, signal });
  };
}
