import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** Starts every token of ours; the digit changes with the form. */
export const TOKEN_PREFIX = 'gwt1_';

const MAC_BYTES = 32;
/** The longest payload that a protocol allows (`encrypted_content`), as base64url, and some more for the rest. */
const MAX_TOKEN_LENGTH = 30_000_000;

/**
 * What a token brings through a client that speaks another protocol: a vendor's sealed reasoning, unaltered, and its
 * shown text where the client's protocol has no member for it.
 */
const TokenContent = z.object({
  vendor: z.enum(['anthropic', 'openai', 'open']),
  scope: z.string().optional(),
  kind: z.enum(['signature', 'redacted', 'encrypted', 'trace']),
  data: z.string(),
  texts: z.array(z.string()).optional(),
});
export type TokenContent = z.infer<typeof TokenContent>;

export interface OpaqueTokens {
  seal(content: TokenContent): string;
  /**
   * `foreign`: not made by us at all. `broken`: looks like ours but does not verify, so it is nobody's and must be
   * dropped.
   */
  open(text: string): TokenContent | 'foreign' | 'broken';
}

/**
 * Tokens authenticated with a key derived from the gateway's secret. They are not encrypted: what they hold is
 * sealed by its vendor already and was the caller's to see.
 */
export function createOpaqueTokens(secret: string): OpaqueTokens {
  const key = createHmac('sha256', secret).update('opaque reasoning token').digest();
  const mac = (body: string): Buffer => createHmac('sha256', key).update(body).digest();
  return {
    seal(content) {
      const body = Buffer.from(JSON.stringify(content), 'utf8').toString('base64url');
      return `${TOKEN_PREFIX}${body}.${mac(body).toString('base64url')}`;
    },
    open(text) {
      if (!text.startsWith(TOKEN_PREFIX)) return 'foreign';
      if (text.length > MAX_TOKEN_LENGTH) return 'broken';
      const [body = '', given = ''] = text.slice(TOKEN_PREFIX.length).split('.');
      const found = Buffer.from(given, 'base64url');
      if (found.length !== MAC_BYTES || !timingSafeEqual(found, mac(body))) return 'broken';
      return TokenContent.parse(JSON.parse(Buffer.from(body, 'base64url').toString('utf8')));
    },
  };
}
