import type { Redis } from 'ioredis';
import { type ReportBroken, readStored } from '../../broken-records.ts';
import { keyNames } from '../../redis-names.ts';
import { awaitRedis } from '../await-redis.ts';
import { parseKeyRecord } from '../key-record.ts';
import { checkFilled } from '../not-filled.ts';
import { webhookSecretText } from './webhook-secret.ts';

interface ReaderOptions {
  readonly redis: Redis;
  readonly onBroken: ReportBroken;
}

/** How a key's webhooks are sent. */
export interface KeyWebhook {
  readonly url: string | null;
  /** The secrets that sign each webhook: one, and also the one before during a rotation's grace. Empty: no webhook may be sent. */
  readonly secrets: (masterSecret: string, nowMs: number) => string[];
}

/** Resolves to undefined if there is no such key. @throws {GatewayError} `service_unavailable` when Redis does not answer, or was emptied */
export type ReadKeyWebhook = (keyId: string) => Promise<KeyWebhook | undefined>;

export const createKeyWebhookReader =
  ({ redis, onBroken }: ReaderOptions): ReadKeyWebhook =>
  async (keyId) => {
    const text = await awaitRedis(redis.get(keyNames.record(keyId)));
    if (text === null) await checkFilled(redis);
    const record =
      text === null ? undefined : readStored(text, parseKeyRecord, { kind: 'key', id: keyId }, onBroken);
    if (record === undefined) return undefined;
    return {
      url: record.webhookUrl,
      secrets: (masterSecret, nowMs) =>
        record.webhookSecrets
          .filter(({ until }) => until === null || Date.parse(until) > nowMs)
          .map((secret) => webhookSecretText(keyId, secret, masterSecret)),
    };
  };
