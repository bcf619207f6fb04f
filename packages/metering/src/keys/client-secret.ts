import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';

/** OpenAI's prefix: its clients let a browser have a secret that begins so. */
const PREFIX = 'ek_';
/** It goes in a header, of which proxies take 8 KB. */
const MAX_CHARACTERS = 6_000;
/** What repeats itself packs into far less: the edge opens a secret at each request that brings one, before any limit. */
const MAX_OPENED_BYTES = 64 * 1024;
const FORM = /^ek_[\w-]{40,6000}$/;

const [CIPHER, KEY_BYTES, NONCE_BYTES, TAG_BYTES] = ['aes-256-gcm', 32, 12, 16] as const;

/** What a client secret is good for. */
const ClientSecret = z.strictObject({
  /** The keyed hash of the secret of the key that it was made with: it ends with that. */
  secretHash: z.string().min(1),
  /** The only model of its sessions, by the caller's name. */
  model: z.string().min(1),
  /** The settings with which a session begins. */
  session: z.record(z.string(), z.unknown()),
  expiresAtMs: z.number(),
});
export type ClientSecret = z.infer<typeof ClientSecret>;

export interface ClientSecrets {
  /** Undefined: its session is too large. */
  seal(secret: ClientSecret): string | undefined;
  /** What the gateway has sealed and has not expired; undefined for everything else. */
  open(text: string): ClientSecret | undefined;
}

interface ClientSecretsOptions {
  readonly gatewaySecret: string;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Secrets for a browser, which must not have a key: sealed, so that no process has to remember them. */
export function createClientSecrets({ gatewaySecret, now }: ClientSecretsOptions): ClientSecrets {
  const key = Buffer.from(hkdfSync('sha256', gatewaySecret, '', 'realtime client secret v1', KEY_BYTES));
  return {
    seal: (secret) => {
      const json = Buffer.from(JSON.stringify(secret));
      if (json.length > MAX_OPENED_BYTES) return undefined;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
      const text = [cipher.update(deflateRawSync(json)), cipher.final()];
      const sealed = Buffer.concat([nonce, ...text, cipher.getAuthTag()]).toString('base64url');
      return sealed.length + PREFIX.length > MAX_CHARACTERS ? undefined : PREFIX + sealed;
    },
    open: (text) => {
      if (!FORM.test(text)) return undefined;
      const packed = decrypt(key, Buffer.from(text.slice(PREFIX.length), 'base64url'));
      const secret = packed && unpack(packed);
      return secret !== undefined && now() < secret.expiresAtMs ? secret : undefined;
    },
  };
}

/** Whether a bearer may be a client secret. */
export const isClientSecret = (bearer: string): boolean => bearer.startsWith(PREFIX);

/** Undefined: another version of the gateway sealed it, in a form of its own. */
function unpack(packed: Buffer): ClientSecret | undefined {
  try {
    const opened = inflateRawSync(packed, { maxOutputLength: MAX_OPENED_BYTES });
    return ClientSecret.safeParse(JSON.parse(opened.toString())).data;
  } catch {
    return undefined;
  }
}

function decrypt(key: Buffer, sealed: Buffer): Buffer | undefined {
  if (sealed.length <= NONCE_BYTES + TAG_BYTES) return undefined;
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}
