import type { AuthSettings } from '../../configuration/auth-entry.ts';
import type { Fetched } from '../renewed-value.ts';

type GoogleSettings = Extract<AuthSettings, { type: 'google' }>;

const CLOUD_PLATFORM = 'https://www.googleapis.com/auth/cloud-platform';
const HOUR_SECONDS = 3600;

/**
 * A token by Google's package: of the application default credentials, or of a file of any of its kinds. The file is read for
 * every token, since it rotates.
 */
export async function fetchGoogleToken({
  credentialsFile,
  impersonate,
  scope = CLOUD_PLATFORM,
}: GoogleSettings): Promise<Fetched<string>> {
  const { GoogleAuth, Impersonated } = await import('google-auth-library');
  const scopes = scope.split(' ');
  const own = impersonate === undefined ? scopes : [CLOUD_PLATFORM];
  const source = await new GoogleAuth({
    scopes: own,
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
        });
  const { token } = await client.getAccessToken();
  if (!token) throw new Error('Google answered without a token');
  return { value: token, expiresAtMs: client.credentials.expiry_date ?? null };
}
