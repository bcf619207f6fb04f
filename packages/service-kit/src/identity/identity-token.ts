import { createHmac, timingSafeEqual } from 'node:crypto';
import { Identity } from '@gateway/contracts/identity';
import { z } from 'zod';

/** How long a signed identity is accepted, in milliseconds. */
const LIFETIME_MS = 60_000;
/** An identity in use is signed again after this time, so that no token is sent shortly before it expires. */
const RESIGN_MS = 15_000;
/** Bounds both caches below; a full one is cleared. */
const MAX_REMEMBERED = 10_000;

const SignedIdentity = z.object({ identity: Identity, expiresAtMs: z.number() });
type SignedIdentity = z.infer<typeof SignedIdentity>;

interface TokenOptions {
  readonly secret: string;
  readonly now: () => number;
}

const signature = (secret: string, payload: string): Buffer =>
  createHmac('sha256', secret).update('identity.').update(payload).digest();

/**
 * Makes the edge's signer. The token is `base64url(JSON).base64url(HMAC-SHA256)`; one identity object is signed once
 * per 15 s, not once per request.
 */
export function createIdentitySigner({ secret, now }: TokenOptions): (identity: Identity) => string {
  const signed = new WeakMap<Identity, { token: string; signedAtMs: number }>();
  return (identity) => {
    const nowMs = now();
    const known = signed.get(identity);
    const ageMs = nowMs - (known?.signedAtMs ?? 0);
    // After a clock was set back, a token of before would be accepted for too long.
    if (known !== undefined && ageMs >= 0 && ageMs < RESIGN_MS) return known.token;
    const content: SignedIdentity = { identity, expiresAtMs: nowMs + LIFETIME_MS };
    const payload = Buffer.from(JSON.stringify(content)).toString('base64url');
    const token = `${payload}.${signature(secret, payload).toString('base64url')}`;
    signed.set(identity, { token, signedAtMs: nowMs });
    return token;
  };
}

/**
 * Makes a service's verifier: the identity of a token that we signed and that has not expired, else undefined. `now` should tolerate
 * that the clock is set while a token is on its way.
 */
export function createIdentityVerifier({
  secret,
  now,
}: TokenOptions): (token: string) => Identity | undefined {
  const verified = new Map<string, SignedIdentity>();
  return (token) => {
    let content = verified.get(token);
    if (content === undefined) {
      content = verify(secret, token);
      if (content === undefined) return undefined;
      if (verified.size >= MAX_REMEMBERED) verified.clear();
      verified.set(token, content);
    }
    if (content.expiresAtMs > now()) return content.identity;
    verified.delete(token);
    return undefined;
  };
}

function verify(secret: string, token: string): SignedIdentity | undefined {
  const [payload, mac, ...rest] = token.split('.');
  if (payload === undefined || mac === undefined || rest.length > 0) return undefined;
  const expected = signature(secret, payload);
  const received = Buffer.from(mac, 'base64url');
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) return undefined;
  return SignedIdentity.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
}
