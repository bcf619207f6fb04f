import { GatewayError } from '@gateway/contracts/gateway-error';
import type { AuditEntry } from '../audit/audit-log.ts';
import { type KeyRecord, withSettings } from './key-record.ts';
import type { KeySettings } from './settings.ts';
import type { WebhookSecret } from './webhooks/webhook-secret.ts';

/** A record's next state. */
export interface NextRecord {
  readonly action: AuditEntry['action'];
  readonly record: KeyRecord;
}

/** @throws {GatewayError} `conflict` for a revoked key */
export function changed(record: KeyRecord, settingsFor: (record: KeyRecord) => KeySettings): NextRecord {
  checkNotRevoked(record);
  return { action: 'key.changed', record: withSettings(record, settingsFor(record)) };
}

/** With another secret; the one before stays for the grace time. @throws {GatewayError} `conflict` for a revoked key */
export function rotated(
  before: KeyRecord,
  secretHash: string,
  graceSeconds: number,
  nowMs: number,
): NextRecord {
  checkNotRevoked(before);
  const [current] = before.secrets;
  const until = new Date(nowMs + graceSeconds * 1000).toISOString();
  const staying = current !== undefined && graceSeconds > 0 ? [{ ...current, until }] : [];
  const secrets = [{ hash: secretHash, until: null }, ...staying];
  return { action: 'key.rotated', record: { ...before, secrets } };
}

/** As `rotated`, for the secret that signs the key's webhooks. @throws {GatewayError} `conflict` for a revoked key */
export function webhookSecretRotated(
  before: KeyRecord,
  made: WebhookSecret,
  graceSeconds: number,
  nowMs: number,
): NextRecord {
  checkNotRevoked(before);
  const [current] = before.webhookSecrets;
  const until = new Date(nowMs + graceSeconds * 1000).toISOString();
  const staying = current !== undefined && graceSeconds > 0 ? [{ ...current, until }] : [];
  const webhookSecrets = [made, ...staying];
  return { action: 'key.webhook_secret_rotated', record: { ...before, webhookSecrets } };
}

/** Undefined for a key that is revoked already. */
export const revoked = (record: KeyRecord, nowMs: number): NextRecord | undefined =>
  record.revokedAt === null
    ? { action: 'key.revoked', record: { ...record, revokedAt: new Date(nowMs).toISOString() } }
    : undefined;

function checkNotRevoked({ id, revokedAt }: KeyRecord): void {
  if (revokedAt === null) return;
  throw new GatewayError('conflict', `The key '${id}' has been revoked permanently. Create a new one.`);
}
