import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** How long a request can be begun with a pass; the request itself may take longer. */
const LIFETIME_MS = 60_000;
const PREFIX = 'gwp_';
/** Bounds what is read before the signature is checked. */
const FORM = /^gwp_([\w-]{1,1000})\.([\w-]{43})$/;

/** What a pass allows: one key's requests. */
const Pass = z.strictObject({
  keyId: z.string().min(1),
  /** The only channel that these requests may go to; null: any. */
  channel: z.string().min(1).nullable(),
  /** The draft of the configuration by which its request is sent; absent: the configuration in use. */
  draft: z.string().min(1).optional(),
});
export type Pass = z.infer<typeof Pass>;

const SignedPass = Pass.extend({ expiresAtMs: z.number() });

export interface Passes {
  /** A bearer for the edge: `gwp_base64url(JSON).base64url(HMAC-SHA256)`. */
  issue(pass: Pass): string;
  /** The pass of a bearer that we issued within the last minute; undefined for everything else. */
  read(bearer: string): Pass | undefined;
}

interface PassesOptions {
  readonly gatewaySecret: string;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/**
 * Passes stand for a key where its secret is not known, since only a hash of it is stored: the admin service sends a person's
 * requests with them. They are made for one request each, and do not leave the gateway's processes.
 */
export function createPasses({ gatewaySecret, now }: PassesOptions): Passes {
  const key = Buffer.from(hkdfSync('sha256', gatewaySecret, '', 'gateway pass v1', 32));
  const signatureOf = (payload: string): string =>
    createHmac('sha256', key).update(payload).digest('base64url');
  return {
    issue: (pass) => {
      const content: z.infer<typeof SignedPass> = { ...pass, expiresAtMs: now() + LIFETIME_MS };
      const payload = Buffer.from(JSON.stringify(content)).toString('base64url');
      return `${PREFIX}${payload}.${signatureOf(payload)}`;
    },
    read: (bearer) => {
      const [, payload = '', signature = ''] = FORM.exec(bearer) ?? [];
      if (payload === '') return undefined;
      if (!timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(payload)))) return undefined;
      const { expiresAtMs, ...pass } = SignedPass.parse(
        JSON.parse(Buffer.from(payload, 'base64url').toString()),
      );
      return now() < expiresAtMs ? pass : undefined;
    },
  };
}
