import { createHash, randomUUID } from 'node:crypto';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { DRAFT_HEADER } from '@gateway/contracts/identity';
import { ATTEMPTS_HEADER } from '@gateway/contracts/usage/usage-detail';
import { type Actor, addAuditEntry } from '@gateway/metering/audit/audit-log';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { Passes } from '@gateway/metering/keys/pass';
import { unmasked } from '@gateway/upstream/configuration/draft/take-secrets';
import { createDraftShelf } from '@gateway/upstream/configuration/stored/draft-shelf';
import { createSealedValues } from '@gateway/upstream/configuration/stored/sealed-values';
import { commit } from '@gateway/upstream/health/rests/rest-store';
import { readAttempts } from '@gateway/upstream/replies/attempts-header';
import type { Redis } from 'ioredis';
import { sendOnce } from '../playground/send-once.ts';
import { type BaseText, type Draft, EMPTY_CONFIGURATION } from './draft.ts';
import { refuseMistakes, sealText } from './seal-text.ts';
import type { DraftTry, TriedDraft } from './try-draft.ts';

export type SendByDraft = (tried: TriedDraft, by: Actor) => Promise<DraftTry>;

export interface SendByDraftOptions {
  readonly redis: Redis;
  readonly gatewaySecret: string;
  readonly draft: Draft;
  readonly readBase: () => Promise<BaseText>;
  /** The values that are sealed beside the configuration in use. */
  readonly readSealed: () => Promise<Readonly<Record<string, string>>>;
  /** Where this service reaches the edge. */
  readonly edgeUrl: string;
  readonly passes: Pick<Passes, 'issue'>;
  readonly now: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly uptime: () => number;
}

/** Below the time for which a draft lies in Redis: until then its author tries no other one. */
const TIMEOUT_MS = 55_000;

const OLD_SERVICE =
  'The text service that answered is of an older version and does not know drafts: it used the configuration in use. Try again when all services are updated.';

/**
 * Lays the draft into Redis, sealed, and sends a request with a pass that names it: through the edge and a text service, with the
 * limits, the budget and the usage of its key.
 */
export function createSendByDraft(options: SendByDraftOptions): SendByDraft {
  const { redis, gatewaySecret, draft, readBase, readSealed, edgeUrl, passes, now, uptime } = options;
  const values = createSealedValues(gatewaySecret);
  const shelf = createDraftShelf(redis, values);

  const note = async (subject: string, after: Record<string, unknown>, by: Actor): Promise<void> => {
    const transaction = redis.multi();
    const at = new Date(now()).toISOString();
    addAuditEntry(transaction, {
      at,
      ...by,
      action: 'configuration.tried',
      subject,
      before: null,
      after,
    });
    await awaitRedis(commit(transaction));
  };

  return async ({ text, secrets = {}, model, input, maxOutputTokens, keyId }, by) => {
    const { mistakes, changes } = await draft({ text });
    refuseMistakes(mistakes, 'Nothing was sent');
    const base = (await readBase()).text ?? EMPTY_CONFIGURATION;
    const whole = unmasked(text, base);
    const { replaced: _, ...sealed } = sealText({ text: whole, secrets, before: await readSealed() }, values);
    const id = createHash('sha256').update(by.who).digest('hex').slice(0, 32);
    if (!(await awaitRedis(shelf.put(id, sealed))))
      throw new GatewayError(
        'conflict',
        'You are already trying a draft. Wait for its answer, at most 60 s.',
      );
    try {
      const requestId = `draft-${randomUUID()}`;
      await note(model, { requestId, keyId, changes: changes.map((change) => change.text) }, by);
      const { headers, ...sent } = await sendOnce(
        { edgeUrl, uptime, timeoutMs: TIMEOUT_MS },
        {
          ...{ requestId, pass: passes.issue({ keyId, channel: null, draft: id }) },
          ...{ model, input, maxOutputTokens },
        },
      );
      const attempts = readAttempts(headers?.get(ATTEMPTS_HEADER) ?? '');
      const isOld = sent.isOk && headers?.has(DRAFT_HEADER) !== true;
      return { ...sent, ...(isOld && { isOk: false, error: OLD_SERVICE }), model, requestId, attempts };
    } finally {
      // Where Redis is away it expires.
      await shelf.remove(id).catch(() => undefined);
    }
  };
}
