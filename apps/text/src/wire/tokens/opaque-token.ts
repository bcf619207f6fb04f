import { createHmac, timingSafeEqual } from 'node:crypto';
import { REASONING_VENDORS } from '@gateway/contracts/quirks';
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
  vendor: z.enum(REASONING_VENDORS),
  scope: z.string().optional(),
  kind: z.enum(['signature', 'redacted', 'encrypted', 'trace']),
  data: z.string(),
  place: z.union([z.int().min(0), z.enum(['text', 'end', 'thought', 'whole'])]).optional(),
  texts: z.array(z.string()).optional(),
});
export type TokenContent = z.infer<typeof TokenContent>;

/** The tokens of one caller. */
export interface OpaqueTokens {
  seal(content: TokenContent): string;
  /**
   * `foreign`: not made by us at all. `broken`: looks like ours but does not verify: altered, another owner's, or made
   * before tokens had owners. It must be dropped.
   */
  open(text: string): TokenContent | 'foreign' | 'broken';
  /** What makes the same tokens in a thread. */
  readonly key: TokenKey;
}

/** The key of one gateway's tokens, and whose they are. Never leaves the process. */
export interface TokenKey {
  readonly bytes: Uint8Array;
  readonly owners: readonly [string, ...string[]];
}

export interface TokenSeals {
  /** @param owners the key or team that new tokens belong to, and any others whose tokens open */
  ownedBy(owners: readonly [string, ...string[]]): OpaqueTokens;
}

/**
 * Tokens authenticated with a key derived from the gateway's secret. They are not encrypted: what they hold is
 * sealed by its vendor already and was the caller's to see. Another key's token is as unreadable as an altered one.
 */
export function createTokenSeals(secret: string): TokenSeals {
  const bytes = createHmac('sha256', secret).update('opaque reasoning token').digest();
  return { ownedBy: (owners) => opaqueTokens({ bytes, owners }) };
}

export function opaqueTokens(key: TokenKey): OpaqueTokens {
  const { bytes, owners } = key;
  const mac = (owner: string, body: string): Buffer =>
    createHmac('sha256', bytes).update(`${owner}\n${body}`).digest();
  return {
    key,
    seal(content) {
      const body = Buffer.from(JSON.stringify(content), 'utf8').toString('base64url');
      return `${TOKEN_PREFIX}${body}.${mac(owners[0], body).toString('base64url')}`;
    },
    open(text) {
      if (!text.startsWith(TOKEN_PREFIX)) return 'foreign';
      if (text.length > MAX_TOKEN_LENGTH) return 'broken';
      const [body = '', given = ''] = text.slice(TOKEN_PREFIX.length).split('.');
      const found = Buffer.from(given, 'base64url');
      if (found.length !== MAC_BYTES) return 'broken';
      if (!owners.some((owner) => timingSafeEqual(found, mac(owner, body)))) return 'broken';
      return TokenContent.parse(JSON.parse(Buffer.from(body, 'base64url').toString('utf8')));
    },
  };
}
