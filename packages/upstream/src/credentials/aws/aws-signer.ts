import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { AuthSettings } from '../../configuration/auth-entry.ts';
import type { FinalRequest, TokenWay } from '../credential-source.ts';
import type { Fetched } from '../renewed-value.ts';
import { awsHandler } from './aws-handler.ts';

type AwsSettings = Extract<AuthSettings, { type: 'aws' }>;

/** Signs with one set of keys. */
export interface AwsSigner {
  /** The headers that the request gets: names and values in turn. */
  sign(request: FinalRequest, date: Date): Promise<string[]>;
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

/** Keys of a source, by AWS' packages, and what signs with them. */
export async function fetchAwsSigner(settings: AwsSettings, way: TokenWay): Promise<Fetched<AwsSigner>> {
  const keys = await fetchKeys(settings, way);
  return { value: await signerOf(keys, settings), expiresAtMs: keys.expiration?.getTime() ?? null };
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

/** Only these are signed: what else is sent may be changed by a proxy on the way. */
async function signerOf(keys: AwsKeys, { region, service }: AwsSettings): Promise<AwsSigner> {
  const { SignatureV4 } = await import('@smithy/signature-v4');
  const signer = new SignatureV4({ service, region, credentials: signingKeys(keys), sha256: Sha256 });
  return {
    async sign({ method, origin, path, headers, body }, date) {
      if (body === 'streamed') throw new Error('a body that is not in memory cannot be signed');
      const url = new URL(path, origin);
      const contentType = valueIn(headers, 'content-type');
      const signed = await signer.sign(
        {
          method,
          protocol: url.protocol,
          hostname: url.hostname,
          path: url.pathname,
          query: queryOf(url),
          headers: {
            host: url.host,
            'x-amz-content-sha256': createHash('sha256')
              .update(body ?? '')
              .digest('hex'),
            ...(contentType !== undefined && { 'content-type': contentType }),
          },
        },
        { signingDate: date },
      );
      const { host: _, 'content-type': __, ...added } = signed.headers;
      return Object.entries(added).flat();
    },
  };
}

/** Every value of each name. */
const queryOf = ({ searchParams }: URL): Record<string, string[]> =>
  Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)]));

/** Without the date of their end, by which the package would refuse to sign where this machine's clock is wrong. */
const signingKeys = ({ accessKeyId, secretAccessKey, sessionToken }: AwsKeys) => ({
  accessKeyId,
  secretAccessKey,
  ...(sessionToken !== undefined && { sessionToken }),
});

function valueIn(headers: readonly string[], name: string): string | undefined {
  const at = headers.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === name);
  return at === -1 ? undefined : headers[at + 1];
}

type Bytes = string | ArrayBuffer | ArrayBufferView;

/** Node's own hash, in the form that the signer takes. */
class Sha256 {
  readonly #secret: Bytes | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: Bytes) {
    this.#secret = secret;
    this.#hash = this.#begin();
  }

  update(data: Bytes): void {
    this.#hash.update(bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    this.#hash = this.#begin();
  }

  #begin(): Hash | Hmac {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(this.#secret));
  }
}

function bytesOf(data: Bytes): Buffer {
  if (typeof data === 'string') return Buffer.from(data);
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return Buffer.from(data);
}
