import { createHash, createHmac } from 'node:crypto';
import type { Reply } from '../replies/reply.ts';
import type { RecordedRequest } from '../requests/recorded-request.ts';
import { refusal } from './cloud.ts';

/** Who may call an address of AWS. */
export interface AwsGate {
  readonly region: string;
  readonly service: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** API keys that are taken in place of a signature. */
  readonly apiKeys?: readonly string[];
  readonly now?: () => number;
}

const MAX_SKEW_MS = 5 * 60_000;
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=(?<key>[^/]+)\/(?<scope>[^,]+), ?SignedHeaders=(?<signed>[^,]+), ?Signature=(?<signature>[0-9a-f]{64})$/;
/** Without these a signature says nothing about what was sent. */
const MUST_BE_SIGNED = ['host', 'x-amz-date'];

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest();
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

const refused = (status: number, code: string, message: string, now: number): Reply =>
  refusal(
    status,
    { message },
    { 'x-amzn-errortype': `${code}:http://internal.amazon.com/`, date: new Date(now).toUTCString() },
  );

/** Null: the request is let in. The signature is computed from what was received (Signature Version 4). */
export function refusedByAws(request: RecordedRequest, gate: AwsGate): Reply | null {
  const now = gate.now?.() ?? Date.now();
  const { authorization = '', 'x-api-key': key } = request.headers;
  const bearer = /^Bearer (.+)$/.exec(authorization)?.[1] ?? (typeof key === 'string' ? key : undefined);
  if (bearer !== undefined)
    return gate.apiKeys?.includes(bearer) === true
      ? null
      : refused(
          403,
          'AccessDeniedException',
          'Authentication failed: Please make sure your API Key is valid.',
          now,
        );
  const found = AUTHORIZATION.exec(authorization)?.groups;
  if (found === undefined)
    return refused(403, 'MissingAuthenticationTokenException', 'Missing Authentication Token', now);
  const { key: id, scope = '', signed = '', signature } = found;
  if (id !== gate.accessKeyId)
    return refused(
      403,
      'UnrecognizedClientException',
      'The security token included in the request is invalid.',
      now,
    );
  const [day = '', region, service] = scope.split('/');
  if (region !== gate.region)
    return refused(403, 'InvalidSignatureException', `Credential should be scoped to a valid region.`, now);
  if (service !== gate.service)
    return refused(
      403,
      'InvalidSignatureException',
      `Credential should be scoped to correct service: '${gate.service}'.`,
      now,
    );
  const date = String(request.headers['x-amz-date'] ?? '');
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (!(Math.abs(at - now) <= MAX_SKEW_MS) || !date.startsWith(day))
    return refused(
      403,
      'InvalidSignatureException',
      `Signature expired: ${date} is now earlier than allowed`,
      now,
    );
  if (gate.sessionToken !== undefined && request.headers['x-amz-security-token'] !== gate.sessionToken)
    return refused(
      403,
      'ExpiredTokenException',
      'The security token included in the request is expired',
      now,
    );
  const names = signed.split(';');
  if (
    !MUST_BE_SIGNED.every((name) => names.includes(name)) ||
    signature !== signatureOf(request, gate, { date, scope, names })
  )
    return refused(
      403,
      'InvalidSignatureException',
      'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
      now,
    );
  return null;
}

interface Scope {
  readonly date: string;
  readonly scope: string;
  readonly names: readonly string[];
}

function signatureOf(
  request: RecordedRequest,
  { secretAccessKey }: AwsGate,
  { date, scope, names }: Scope,
): string {
  const query = [...request.query]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
  const canonical = [
    request.method,
    // The path as it was sent, encoded once more.
    request.path.split('/').map(encoded).join('/'),
    query,
    ...names.map((name) => `${name}:${String(request.headers[name] ?? '').trim()}`),
    '',
    names.join(';'),
    sha256(request.body),
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n');
  const key = scope
    .split('/')
    .reduce<string | Buffer>((one, part) => hmac(one, part), `AWS4${secretAccessKey}`);
  return hmac(key, toSign).toString('hex');
}
