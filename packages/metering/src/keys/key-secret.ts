import { createHmac, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { z } from 'zod';

/** The prefix of the gateway's keys, for people and for secret scanners. */
export const SECRET_PREFIX = 'gwk_';
/** 256 bits. */
const RANDOM_BYTES = 32;
const CHECKSUM_BYTES = 4;
const MADE_BY_US = /^(gwk_[A-Za-z0-9_-]{43})([A-Za-z0-9_-]{6})$/;
/** Bounds for a secret that the operator chose: the bootstrap key. */
export const FOREIGN_SECRET_CHARACTERS = { min: 24, max: 256 } as const;
const PRINTABLE_ASCII = /^[\x21-\x7e]+$/;

/** A new secret: the prefix, 256 random bits and a checksum of both, in base64url. 53 characters. */
export function makeSecret(): string {
  const body = SECRET_PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
  return body + checksumOf(body);
}

/**
 * Whether a string can be a key at all, so that typing mistakes and scans need no Redis call. It proves nothing: the
 * checksum is public.
 */
export function isPlausibleSecret(secret: string): boolean {
  if (!secret.startsWith(SECRET_PREFIX)) return isForeignSecret(secret);
  const [, body, checksum] = MADE_BY_US.exec(secret) ?? [];
  return body !== undefined && checksum === checksumOf(body);
}

/** Whether a string may serve as the bootstrap key: long enough, and writable in an HTTP header. */
const isForeignSecret = (secret: string): boolean =>
  secret.length >= FOREIGN_SECRET_CHARACTERS.min &&
  secret.length <= FOREIGN_SECRET_CHARACTERS.max &&
  PRINTABLE_ASCII.test(secret);

/** What is stored instead of a secret: HMAC-SHA256 under the gateway's own secret, base64url. */
export const hashOf = (secret: string, gatewaySecret: string): string =>
  createHmac('sha256', gatewaySecret).update('key.').update(secret).digest('base64url');

function checksumOf(body: string): string {
  const bytes = Buffer.alloc(CHECKSUM_BYTES);
  bytes.writeUInt32BE(crc32(body));
  return bytes.toString('base64url');
}

/** A key that a person chose, and that must exist. */
export const BootstrapKey = z
  .string()
  .regex(/^[\x21-\x7e]{24,256}$/, 'must be 24 to 256 printable characters without spaces')
  .refine(
    (key) => !key.startsWith(SECRET_PREFIX) || isPlausibleSecret(key),
    'must not begin with gwk_, by which the keys that the gateway makes are known',
  );
