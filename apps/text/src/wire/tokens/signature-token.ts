import { TOKEN_PREFIX } from './opaque-token.ts';

/** What Google documents for a call that another model made, or whose signature is lost: it is not checked. */
export const NO_SIGNATURE = 'skip_thought_signature_validator';

/** A token of ours as the signature of a part: Google's clients take it for bytes in base64, and write it again in either alphabet. */
export const signatureOf = (token: string): string => Buffer.from(token).toString('base64');

/** The first letters of every such signature: those that the prefix alone decides. */
export const SIGNATURE_PREFIX = signatureOf(TOKEN_PREFIX).slice(0, Math.floor((TOKEN_PREFIX.length * 8) / 6));

/** The token in a signature; null for one of Google's own. */
export function tokenIn(signature: string): string | null {
  if (!signature.startsWith(SIGNATURE_PREFIX)) return null;
  const token = Buffer.from(signature, 'base64').toString();
  return token.startsWith(TOKEN_PREFIX) ? token : null;
}
