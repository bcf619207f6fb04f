import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { type Actor, addAuditEntry } from '@gateway/metering/audit/audit-log';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { Whose } from '@gateway/model-service/content-log/content-reader';
import { commit } from '@gateway/upstream/health/rests/rest-store';
import type { Redis } from 'ioredis';

/** Writes to the log of changes who read or deleted the content of a request; nothing of the content. */
export const createContentNote =
  ({ redis, now }: { readonly redis: Redis; readonly now: () => number }) =>
  async (
    action: 'content.read' | 'content.deleted',
    { id, requestId, keyId, team, model }: UsageRecord,
    by: Actor,
    /** Beside it: the records of its conversation that were read with it. */
    more: { readonly session: string; readonly requests: readonly string[] } | null = null,
  ): Promise<void> => {
    const transaction = redis.multi();
    const after = { requestId: requestId ?? null, keyId, team, model, ...more };
    addAuditEntry(transaction, {
      at: new Date(now()).toISOString(),
      ...by,
      action,
      subject: id,
      before: null,
      after,
    });
    await awaitRedis(commit(transaction));
  };

/** The same for who deleted all content of a key or an end user. */
export const createErasureNote =
  ({ redis, now }: { readonly redis: Redis; readonly now: () => number }) =>
  async (whose: Whose, by: Actor): Promise<void> => {
    const transaction = redis.multi();
    const [subject = ''] = Object.values(whose);
    addAuditEntry(transaction, {
      at: new Date(now()).toISOString(),
      ...by,
      action: 'content.erased',
      subject,
      before: null,
      after: { ...whose },
    });
    await awaitRedis(commit(transaction));
  };
