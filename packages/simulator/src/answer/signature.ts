import { createHash } from 'node:crypto';

const digest = (text: string, secret: string): string =>
  createHash('sha256').update(secret).update('\0').update(text).digest('base64');

/** Begins like Anthropic's, so that no reader takes it for its own marker. */
const SIGNATURE_PREFIX = 'EqQBCgIYAhIM';

/** Signs a thinking block's text. */
export const signThinking = (text: string, secret: string): string =>
  `${SIGNATURE_PREFIX}${digest(text, secret)}`;

export const isOwnSignature = (text: string, signature: unknown, secret: string): boolean =>
  signature === signThinking(text, secret);

/** Packs text so that only this provider accepts it back: `PREFIX`, the text, and its digest. */
export const seal = (prefix: string, text: string, secret: string): string =>
  prefix + Buffer.from(`${digest(text, secret)}${text}`).toString('base64');

/** The text that this provider packed; null for anything else. */
export const unsealed = (prefix: string, sealed: string, secret: string): string | null => {
  if (!sealed.startsWith(prefix)) return null;
  const unpacked = Buffer.from(sealed.slice(prefix.length), 'base64').toString();
  const digestLength = digest('', secret).length;
  const text = unpacked.slice(digestLength);
  return unpacked.slice(0, digestLength) === digest(text, secret) ? text : null;
};

export const isOwnSeal = (prefix: string, sealed: string, secret: string): boolean =>
  unsealed(prefix, sealed, secret) !== null;

export const ENCRYPTED_REASONING_PREFIX = 'gAAAAAB';
export const REDACTED_THINKING_PREFIX = 'EmwK';
