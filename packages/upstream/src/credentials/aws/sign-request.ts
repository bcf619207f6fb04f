import { hash } from 'node:crypto';
import type { FinalRequest } from '../credential-source.ts';
import { type Hmac, hmacBy } from './hmac.ts';

interface SigningKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

interface SigningScope {
  readonly region: string;
  readonly service: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';
const END = 'aws4_request';

/** What the signatures of one second share. */
interface Moment {
  readonly second: number;
  readonly stamp: string;
  readonly scope: string;
  readonly keyed: Hmac;
}

/**
 * Signature Version 4, as AWS describes it for all services but S3. Why it is not AWS' own package:
 * `docs/decisions/2026-11-27-requests-to-aws-are-signed-here.md`.
 *
 * @returns the headers that the request gets: names and values in turn
 */
export function requestSigner(
  { accessKeyId, secretAccessKey, sessionToken }: SigningKeys,
  { region, service }: SigningScope,
): (request: FinalRequest, atMs: number) => string[] {
  const token = sessionToken === undefined ? [] : ['x-amz-security-token', sessionToken];
  const tokenLine = sessionToken === undefined ? '' : `x-amz-security-token:${sessionToken}\n`;
  const names = `host;x-amz-content-sha256;x-amz-date${sessionToken === undefined ? '' : ';x-amz-security-token'}`;
  let known: { readonly day: string; readonly keyed: Hmac } | null = null;
  const keyedOn = (day: string): Hmac => {
    if (known?.day !== day) {
      const key = [day, region, service, END].reduce<Buffer>(
        (secret, part) => hmacBy(secret)(part),
        Buffer.from(`AWS4${secretAccessKey}`),
      );
      known = { day, keyed: hmacBy(key) };
    }
    return known.keyed;
  };
  let moment: Moment | null = null;
  const momentAt = (second: number): Moment => {
    if (moment?.second !== second) {
      const stamp = new Date(second * 1000).toISOString().replaceAll(/[-:]|\.\d+/g, '');
      const day = stamp.slice(0, 8);
      moment = { second, stamp, scope: `${day}/${region}/${service}/${END}`, keyed: keyedOn(day) };
    }
    return moment;
  };
  return ({ method, origin, path, headers, body }, atMs) => {
    if (body === 'streamed') throw new Error('a body that is not in memory cannot be signed');
    const { stamp, scope, keyed } = momentAt(Math.floor(atMs / 1000));
    const bodyHash = hash('sha256', body ?? '');
    const type = valueIn(headers, 'content-type')?.trim().replaceAll(/\s+/g, ' ');
    // Only these: what else is sent may be changed by a proxy on the way. In the order of their names.
    const signed = type === undefined ? names : `content-type;${names}`;
    const typeLine = type === undefined ? '' : `content-type:${type}\n`;
    const lines = `${typeLine}host:${hostOf(origin)}\nx-amz-content-sha256:${bodyHash}\nx-amz-date:${stamp}\n${tokenLine}`;
    const queryAt = path.indexOf('?');
    const pathname = queryAt === -1 ? path : path.slice(0, queryAt);
    const query = queryAt === -1 ? '' : path.slice(queryAt + 1);
    const canonical = `${method}\n${canonicalPath(pathname)}\n${canonicalQuery(query)}\n${lines}\n${signed}\n${bodyHash}`;
    const signature = keyed(`${ALGORITHM}\n${stamp}\n${scope}\n${hash('sha256', canonical)}`).toString('hex');
    return [
      'authorization',
      `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`,
      'x-amz-content-sha256',
      bodyHash,
      'x-amz-date',
      stamp,
      ...token,
    ];
  };
}

/** Of an origin such as `https://host:8443`. */
const hostOf = (origin: string): string => origin.slice(origin.indexOf('//') + 2);

function valueIn(headers: readonly string[], name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2)
    if (headers[at]?.toLowerCase() === name) return headers[at + 1];
  return undefined;
}

/** Segments of letters, digits and `-._~` that begin with none of the signs. */
const PLAIN_PATH = /^(?:\/\w[\w.~-]*)+$/;

/** The path as it is sent without empty segments, `.` and `..`, encoded once more. */
function canonicalPath(path: string): string {
  if (PLAIN_PATH.test(path)) return path;
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(encoded(segment));
  }
  return kept.length === 0 ? '/' : `/${kept.join('/')}${path.endsWith('/') ? '/' : ''}`;
}

/** Every value of each name, in the order of names and values. */
function canonicalQuery(query: string): string {
  if (query === '') return '';
  const pairs = [...new URLSearchParams(query)].map(
    ([name, value]) => [encoded(name), encoded(value)] as const,
  );
  pairs.sort((one, other) => compared(one[0], other[0]) || compared(one[1], other[1]));
  return pairs.map(([name, value]) => `${name}=${value}`).join('&');
}

const compared = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** RFC 3986: all but letters, digits and `-._~`. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
