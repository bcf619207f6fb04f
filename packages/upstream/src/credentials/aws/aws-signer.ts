import type { AuthSettings } from '../../configuration/auth-entry.ts';
import type { FinalRequest, TokenWay } from '../credential-source.ts';
import type { Fetched } from '../renewed-value.ts';
import { awsHandler } from './aws-handler.ts';
import { requestSigner } from './sign-request.ts';

type AwsSettings = Extract<AuthSettings, { type: 'aws' }>;

/** Signs with one set of keys. */
export interface AwsSigner {
  /** The headers that the request gets: names and values in turn. */
  sign(request: FinalRequest, atMs: number): string[];
}

interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

const SESSION_NAME = 'gateway';
/** All of them have to end within the time that credentials may take. */
const STS_ATTEMPTS = 2;

/** Keys of a source, by AWS' packages where it takes one, and what signs with them. */
export async function fetchAwsSigner(settings: AwsSettings, way: TokenWay): Promise<Fetched<AwsSigner>> {
  const keys = await fetchKeys(settings, way);
  const sign = requestSigner(keys, settings);
  return { value: { sign }, expiresAtMs: keys.expiration?.getTime() ?? null };
}

async function fetchKeys(settings: AwsSettings, way: TokenWay): Promise<AwsKeys> {
  const { profile, accessKeyId, secretAccessKey, sessionToken, roleArn, externalId } = settings;
  const own: AwsKeys | null =
    accessKeyId !== undefined && secretAccessKey !== undefined
      ? { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
      : null;
  if (own !== null && roleArn === undefined) return own;

  const { fromIni, fromNodeProviderChain, fromTemporaryCredentials, fromTokenFile } = await import(
    '@aws-sdk/credential-providers'
  );
  const sessionName = settings.sessionName ?? SESSION_NAME;
  // STS and SSO. What is on this machine, or link-local, is asked by the packages themselves.
  const region = settings.stsRegion ?? settings.region;
  const clientConfig = { region, requestHandler: awsHandler(way), maxAttempts: STS_ATTEMPTS };
  if (settings.webIdentityTokenFile !== undefined && roleArn !== undefined) {
    const { webIdentityTokenFile } = settings;
    return fromTokenFile({ webIdentityTokenFile, roleArn, roleSessionName: sessionName, clientConfig })();
  }
  // Made again each time, so that files which rotate are read again. A profile that is not found is no reason to be somebody else.
  const chain =
    profile === undefined
      ? fromNodeProviderChain({ clientConfig, ignoreCache: true })
      : fromIni({ profile, clientConfig, ignoreCache: true });
  if (roleArn === undefined) return chain();
  const assume = fromTemporaryCredentials({
    params: {
      RoleArn: roleArn,
      RoleSessionName: sessionName,
      ...(externalId !== undefined && { ExternalId: externalId }),
    },
    masterCredentials: own ?? chain,
    clientConfig,
  });
  return assume();
}
