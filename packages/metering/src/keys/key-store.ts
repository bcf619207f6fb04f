import { GatewayError } from '@gateway/contracts/gateway-error';
import { type Actor, GATEWAY_ITSELF } from '../audit/audit-log.ts';
import { type ReportBroken, readStored } from '../broken-records.ts';
import { changed, type NextRecord, revoked, rotated, webhookSecretRotated } from './key-changes.ts';
import {
  bootstrapKeyId,
  type KeyRecord,
  newKeyId,
  newKeyRecord,
  parseKeyRecord,
  shownKey,
} from './key-record.ts';
import { hashOf, makeSecret } from './key-secret.ts';
import { type AccessRecords, type KeyUse, type PageRequest, untilChanged } from './records/access-records.ts';
import type { KeySettings } from './settings.ts';
import { newWebhookSecret, webhookSecretText } from './webhooks/webhook-secret.ts';

export interface KeyPage {
  readonly keys: readonly KeyRecord[];
  /** How much each of them is used, by its id. */
  readonly uses: ReadonlyMap<string, KeyUse>;
  /** What to pass as `after` for the next page; null on the last one. */
  readonly next: string | null;
}

/** A key with its secret, which is only in this answer. */
export interface KeyWithSecret {
  readonly record: KeyRecord;
  readonly secret: string;
}

/** The keys that a change may apply to. The check and the change are one step. Any other key counts as absent. */
export type KeySelection = (record: KeyRecord) => boolean;

/**
 * Callers' keys. Secrets are never stored, only their keyed hash. The audit log has every change. Every function throws a
 * `GatewayError` `service_unavailable` where the records do not answer; the answer is undefined when there is no such key. A record
 * that cannot be read is reported, and counts as absent.
 */
export interface KeyStore {
  createKey(settings: KeySettings, by?: Actor): Promise<KeyWithSecret>;
  /** In the order that is asked for, revoked ones included. */
  listKeys(page: PageRequest): Promise<KeyPage>;
  getKey(id: string): Promise<KeyRecord | undefined>;
  /**
   * Gives a key other settings. `change` may be called again if the key changes meanwhile; if it throws, nothing
   * changes.
   *
   * @throws {GatewayError} `conflict` for a revoked key
   */
  updateKey(
    id: string,
    change: (record: KeyRecord) => KeySettings,
    by: Actor,
    among?: KeySelection,
  ): Promise<KeyRecord | undefined>;
  /**
   * Gives a key another secret. The one before works on for `graceSeconds`; one before that ends now.
   *
   * @throws {GatewayError} `conflict` for a revoked key
   */
  rotateKey(
    id: string,
    graceSeconds: number,
    by: Actor,
    among?: KeySelection,
  ): Promise<KeyWithSecret | undefined>;
  /**
   * Gives a key another secret to sign its webhooks with, or its first. With the one before they are signed as well for `graceSeconds`.
   *
   * @throws {GatewayError} `conflict` for a revoked key, or without a `webhookSecret`
   */
  rotateWebhookSecret(
    id: string,
    graceSeconds: number,
    by: Actor,
    among?: KeySelection,
  ): Promise<KeyWithSecret | undefined>;
  /** Revokes for good; a second time changes nothing. */
  revokeKey(id: string, by?: Actor, among?: KeySelection): Promise<KeyRecord | undefined>;
  /** Makes sure that this secret is a key. Changes nothing if it is one already, also if that was revoked. */
  ensureBootstrapKey(secret: string): Promise<void>;
}

interface KeyStoreOptions {
  readonly records: AccessRecords;
  /** GATEWAY_SECRET: without it, nobody can test secrets against the stored hashes. */
  readonly gatewaySecret: string;
  /** WEBHOOK_SECRET: from it webhooks' secrets are derived. */
  readonly webhookSecret?: string | undefined;
  readonly now: () => number;
  readonly onBroken?: ReportBroken;
}

export function createKeyStore(options: KeyStoreOptions): KeyStore {
  const { records, gatewaySecret, webhookSecret, now, onBroken = () => undefined } = options;
  const hash = (secret: string) => hashOf(secret, gatewaySecret);
  const read = (id: string, text: string): KeyRecord | undefined =>
    readStored(text, parseKeyRecord, { kind: 'key', id }, onBroken);

  const create = (record: KeyRecord, by: Actor) =>
    records.change({
      kind: 'key',
      id: record.id,
      before: null,
      after: record,
      by,
      audit: { action: 'key.created', before: null, after: shownKey(record) },
    });

  /** `next` returns the record's next state; undefined leaves it unchanged. */
  const change = (
    id: string,
    next: (record: KeyRecord) => NextRecord | undefined,
    by: Actor,
    among: KeySelection = () => true,
  ) =>
    untilChanged(id, async () => {
      const text = await records.get('key', id);
      if (text === null) return { record: undefined };
      const before = read(id, text);
      if (before === undefined || !among(before)) return { record: undefined };
      const to = next(before);
      if (to === undefined) return { record: before };
      const { action, record } = to;
      const audit = { action, before: shownKey(before), after: shownKey(record) };
      const changed = await records.change({ kind: 'key', id, before: text, after: record, by, audit });
      return changed ? { record } : undefined;
    }).then(({ record }) => record);

  return {
    createKey: async (settings, by = GATEWAY_ITSELF) => {
      const secret = makeSecret();
      const record = newKeyRecord(newKeyId(now()), settings, hash(secret), now());
      await create(record, by);
      return { record, secret };
    },

    listKeys: async (page) => {
      const { records: found, next } = await records.list('key', page);
      return {
        keys: found.flatMap(({ id, text }) => read(id, text) ?? []),
        uses: new Map(found.flatMap(({ id, use }) => (use === undefined ? [] : [[id, use]]))),
        next,
      };
    },

    getKey: async (id) => {
      const text = await records.get('key', id);
      return text === null ? undefined : read(id, text);
    },

    updateKey: (id, settingsFor, by, among) =>
      change(id, (record) => changed(record, settingsFor), by, among),

    rotateKey: async (id, graceSeconds, by, among) => {
      const secret = makeSecret();
      const next = (before: KeyRecord) => rotated(before, hash(secret), graceSeconds, now());
      const record = await change(id, next, by, among);
      return record === undefined ? undefined : { record, secret };
    },

    rotateWebhookSecret: async (id, graceSeconds, by, among) => {
      if (webhookSecret === undefined) throw webhooksOff();
      const made = newWebhookSecret(now());
      const next = (before: KeyRecord) => webhookSecretRotated(before, made, graceSeconds, now());
      const record = await change(id, next, by, among);
      return record && { record, secret: webhookSecretText(id, made, webhookSecret) };
    },

    revokeKey: (id, by = GATEWAY_ITSELF, among) => change(id, (record) => revoked(record, now()), by, among),

    ensureBootstrapKey: async (secret) => {
      const secretHash = hash(secret);
      const record = newKeyRecord(bootstrapKeyId(secretHash), { name: 'bootstrap' }, secretHash, now());
      await create(record, GATEWAY_ITSELF);
    },
  };
}

const webhooksOff = (): GatewayError =>
  new GatewayError('conflict', {
    message: 'Webhooks are off. Set WEBHOOK_SECRET for the admin service and the workers.',
    retry: false,
  });
