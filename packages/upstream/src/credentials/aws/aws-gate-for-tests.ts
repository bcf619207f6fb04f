import { createHash, createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { json, type ReceivedRequest } from '../../provider-for-tests.ts';

export interface GateKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly hasExpired?: boolean;
}

interface GateOptions {
  readonly region: string;
  readonly service: string;
  /** The keys that are known now. */
  readonly keys: () => readonly GateKeys[];
  readonly now?: () => number;
}

const MAX_SKEW_MS = 5 * 60_000;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
/** RFC 3986, as AWS encodes. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

interface Parts {
  readonly scope: readonly string[];
  readonly accessKeyId: string;
  readonly names: readonly string[];
  readonly signature: string;
}

const CREDENTIAL =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;

function partsOf(authorization = ''): Parts | null {
  const [, accessKeyId, scope, names, signature] = CREDENTIAL.exec(authorization) ?? [];
  if (accessKeyId === undefined || scope === undefined || names === undefined || signature === undefined)
    return null;
  return { accessKeyId, scope: scope.split('/'), names: names.split(';'), signature };
}

/** Computes the signature anew from what has arrived, by AWS' description and without AWS' packages. */
function signatureOf({ method, url, headers, body }: ReceivedRequest, parts: Parts, secret: string): string {
  const [path = '/', search = ''] = url.split('?');
  const query = [...new URLSearchParams(search)]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
  const lines = parts.names.map(
    (name) =>
      `${name}:${String(headers[name] ?? '')
        .trim()
        .replaceAll(/ +/g, ' ')}\n`,
  );
  // The path as it was sent, encoded once more.
  const canonicalPath = path.split('/').map(encoded).join('/');
  const canonical = [method, canonicalPath, query, lines.join(''), parts.names.join(';'), sha256(body)].join(
    '\n',
  );
  const [day = '', region = '', service = '', end = ''] = parts.scope;
  const text = [
    'AWS4-HMAC-SHA256',
    String(headers['x-amz-date']),
    parts.scope.join('/'),
    sha256(canonical),
  ].join('\n');
  const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, day), region), service), end);
  return hmac(key, text).toString('hex');
}

/** What AWS' gate says to a request; null: it may pass. */
export function gateRefusal(
  request: ReceivedRequest,
  { region, service, keys, now = Date.now }: GateOptions,
): { readonly code: string; readonly message: string } | null {
  const { headers, body } = request;
  const parts = partsOf(headers.authorization);
  if (parts === null)
    return { code: 'MissingAuthenticationTokenException', message: 'Missing Authentication Token' };
  const [, ofRegion, ofService, end] = parts.scope;
  if (ofService !== service || end !== 'aws4_request')
    return {
      code: 'InvalidSignatureException',
      message: `Credential should be scoped to correct service: '${service}'.`,
    };
  if (ofRegion !== region)
    return {
      code: 'InvalidSignatureException',
      message: `Credential should be scoped to a valid region, not '${ofRegion}'.`,
    };
  const known = keys().find(({ accessKeyId }) => accessKeyId === parts.accessKeyId);
  if (known === undefined || (known.sessionToken ?? '') !== (headers['x-amz-security-token'] ?? ''))
    return {
      code: 'UnrecognizedClientException',
      message: 'The security token included in the request is invalid.',
    };
  const date = String(headers['x-amz-date']).replace(/^(....)(..)(..T..)(..)/, '$1-$2-$3:$4:');
  if (!(Math.abs(Date.parse(date) - now()) <= MAX_SKEW_MS))
    return {
      code: 'InvalidSignatureException',
      message: `Signature expired: ${headers['x-amz-date']} is now earlier than …`,
    };
  if (known.hasExpired)
    return {
      code: 'ExpiredTokenException',
      message: 'The security token included in the request is expired',
    };
  const declared = headers['x-amz-content-sha256'];
  const isWhole = ['host', 'x-amz-date'].every((name) => parts.names.includes(name));
  const isBody = declared === undefined || declared === sha256(body);
  if (!isWhole || !isBody || signatureOf(request, parts, known.secretAccessKey) !== parts.signature)
    return {
      code: 'InvalidSignatureException',
      message:
        'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
    };
  return null;
}

/** Answers as AWS' gate, or passes the request on. */
export const awsGate =
  (options: GateOptions, pass: (response: ServerResponse, request: ReceivedRequest) => unknown) =>
  (response: ServerResponse, request: ReceivedRequest): unknown => {
    const refusal = gateRefusal(request, options);
    if (refusal === null) return pass(response, request);
    const { code, message } = refusal;
    const date = new Date((options.now ?? Date.now)()).toUTCString();
    return json(response, { message }, 403, {
      'x-amzn-errortype': `${code}:http://internal.amazon.com/coral/`,
      date,
    });
  };
