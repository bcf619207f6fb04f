import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const [CIPHER, KEY_BYTES, NONCE_BYTES, TAG_BYTES] = ['aes-256-gcm', 32, 12, 16] as const;
/** The digit changes with the form. */
const PREFIX = 'gwv1_';

/** Values that only processes with this gateway's secret can read, each bound to the name of its variable. */
export interface SealedValues {
  seal(name: string, value: string): string;
  /** Null: altered, another variable's, or sealed under another secret. */
  open(name: string, sealed: string): string | null;
}

export function createSealedValues(gatewaySecret: string): SealedValues {
  const key = Buffer.from(hkdfSync('sha256', gatewaySecret, '', 'sealed configuration value', KEY_BYTES));
  return {
    seal: (name, value) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(name));
      const text = [cipher.update(value), cipher.final()];
      return PREFIX + Buffer.concat([nonce, ...text, cipher.getAuthTag()]).toString('base64url');
    },
    open: (name, sealed) => {
      const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64url');
      if (!sealed.startsWith(PREFIX) || bytes.length < NONCE_BYTES + TAG_BYTES) return null;
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(name));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
        return Buffer.concat([text, decipher.final()]).toString();
      } catch {
        return null;
      }
    },
  };
}
