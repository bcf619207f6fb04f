import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { parseBody } from '../raw-json.ts';

/** Starts every compaction that the gateway seals; the digit changes with the form. */
export const COMPACTION_PREFIX = 'gwc1_';

/**
 * A compaction comes back with every later turn, and several events of its answer have it. The longest that the Responses
 * protocol takes is 20,971,520.
 */
export const MAX_SEALED_CHARACTERS = 2 * 1024 * 1024;

const [CIPHER, KEY_BYTES, NONCE_BYTES, TAG_BYTES] = ['aes-256-gcm', 32, 12, 16] as const;

/** What replaces a conversation: a summary, and what of the conversation is kept as it was. */
const CompactedWindow = z.object({
  /** Whose items or messages `before` and `after` are. */
  protocol: z.enum(['responses', 'messages']),
  summary: z.string(),
  before: z.array(z.unknown()).readonly(),
  after: z.array(z.unknown()).readonly(),
  /** `beside`: the caller sends the user's messages again, before the compaction. */
  userMessages: z.enum(['within', 'beside']),
});
export type CompactedWindow = z.infer<typeof CompactedWindow>;

export interface CompactionSeals {
  /** `owner`: the key or team that may open it. */
  seal(window: CompactedWindow, owner: string): string;
  /** `foreign`: the gateway did not seal it. `broken`: altered, another owner's, or sealed under another secret. */
  open(text: string, owners: readonly string[]): CompactedWindow | 'foreign' | 'broken';
  /** What makes the same seals in a thread. Never leaves the process. */
  readonly key: Uint8Array;
}

/** Seals that only this gateway opens, and only for the owner that they were made for. */
export const createCompactionSeals = (secret: string): CompactionSeals =>
  compactionSeals(Buffer.from(hkdfSync('sha256', secret, '', 'sealed compaction', KEY_BYTES)));

export function compactionSeals(key: Uint8Array): CompactionSeals {
  const decrypt = (sealed: Buffer, owner: string): string | null => {
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(boundTo(owner));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    try {
      const text = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString();
    } catch {
      return null;
    }
  };
  return {
    key,
    seal: (window, owner) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(boundTo(owner));
      const text = [cipher.update(JSON.stringify(window)), cipher.final()];
      const sealed = Buffer.concat([nonce, ...text, cipher.getAuthTag()]);
      return COMPACTION_PREFIX + sealed.toString('base64url');
    },
    open: (text, owners) => {
      if (!isSealedHere(text)) return 'foreign';
      const sealed = Buffer.from(text.slice(COMPACTION_PREFIX.length), 'base64url');
      if (sealed.length <= NONCE_BYTES + TAG_BYTES) return 'broken';
      for (const owner of owners) {
        const opened = decrypt(sealed, owner);
        if (opened !== null) return CompactedWindow.parse(parseBody(opened));
      }
      return 'broken';
    },
  };
}

const boundTo = (owner: string): Buffer => Buffer.from(COMPACTION_PREFIX + owner);

export const isSealedHere = (text: string): boolean => text.startsWith(COMPACTION_PREFIX);

/** Under which a provider's own compaction is remembered: clients may leave out its id. */
export const compactionDigest = (sealed: string): string =>
  createHash('sha256').update(sealed).digest('base64url');
