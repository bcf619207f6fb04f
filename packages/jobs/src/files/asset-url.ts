import { createHmac, timingSafeEqual } from 'node:crypto';

const DEFAULT_LIFETIME_SECONDS = 3600;

interface SignOptions {
  /** Base of the URL, such as `https://gateway.example`. */
  readonly publicUrl: string;
  readonly secret: string;
  readonly id: string;
  /** Unix milliseconds. */
  readonly now: number;
  readonly lifetimeSeconds?: number;
}

/** A URL under which anybody may fetch this asset until it expires: `…/v1/images/assets/ID?expires=…&signature=…`. */
export function signAssetUrl({ publicUrl, secret, id, now, lifetimeSeconds }: SignOptions): string {
  const expires = Math.ceil(now / 1000) + (lifetimeSeconds ?? DEFAULT_LIFETIME_SECONDS);
  const url = new URL(`${publicUrl.replace(/\/+$/, '')}/v1/images/assets/${encodeURIComponent(id)}`);
  url.searchParams.set('expires', String(expires));
  url.searchParams.set('signature', sign(secret, id, String(expires)));
  return url.href;
}

interface VerifyOptions {
  readonly secret: string;
  readonly id: string;
  /** The query's members, as they came. */
  readonly expires: unknown;
  readonly signature: unknown;
  /** Unix milliseconds. */
  readonly now: number;
}

/** Whether a URL's members are as we signed them and have not expired. Takes the same time for every wrong signature. */
export function verifyAssetUrl({ secret, id, expires, signature, now }: VerifyOptions): boolean {
  if (typeof expires !== 'string' || typeof signature !== 'string' || !/^\d{1,12}$/.test(expires))
    return false;
  // The texts are compared, not what they decode to: base64 has several spellings for the same bytes.
  const expected = Buffer.from(sign(secret, id, expires));
  const received = Buffer.from(signature);
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) return false;
  return Number(expires) * 1000 > now;
}

const sign = (secret: string, id: string, expires: string): string =>
  createHmac('sha256', secret).update(`asset\n${id}\n${expires}`).digest('base64url');
