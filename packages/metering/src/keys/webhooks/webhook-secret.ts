import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { instant } from '../settings.ts';

/** As Standard Webhooks writes a secret. */
const PREFIX = 'whsec_';
const SALT_BYTES = 16;

/**
 * A secret is derived from this, together with `WEBHOOK_SECRET`. Receivers' secrets are symmetric, so that a
 * hash is not enough; and the database alone must not be enough to sign a webhook.
 */
export const WebhookSecret = z.strictObject({
  salt: z.string(),
  madeAt: instant,
  /** When it stops being signed with because another one replaced it; null: not planned. */
  until: instant.nullable(),
});
export type WebhookSecret = z.infer<typeof WebhookSecret>;

export const newWebhookSecret = (nowMs: number): WebhookSecret => ({
  salt: randomBytes(SALT_BYTES).toString('base64url'),
  madeAt: new Date(nowMs).toISOString(),
  until: null,
});

/** `whsec_` and 256 bits in base64. */
export const webhookSecretText = (
  keyId: string,
  { salt }: Pick<WebhookSecret, 'salt'>,
  masterSecret: string,
): string => PREFIX + createHmac('sha256', masterSecret).update(`webhook.${keyId}.${salt}`).digest('base64');
