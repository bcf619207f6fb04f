import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ShownWebhook, WebhookStatus } from '@gateway/contracts/webhooks';
import { type Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { QUEUE_PREFIX, webhookListKey } from '../redis/job-keys.ts';
import { type Delivery, shownWebhook, WEBHOOK_ID, WEBHOOK_QUEUE } from './delivery.ts';
import { RETRY_DELAYS_MS } from './retry-delays.ts';

/** An ended job that somebody may want to hear of. */
export interface EndedJobNotice
  extends Pick<Delivery, 'jobId' | 'keyId' | 'requestId' | 'url' | 'traceparent'> {
  /** The id of its webhook. */
  readonly id: string;
}

interface ListOptions {
  readonly keyId: string | undefined;
  readonly status: WebhookStatus | undefined;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly after: string | undefined;
}

/** The webhooks that wait, are retried, and have ended. */
export interface WebhookLog {
  /** Queues the webhook of a job that has ended. A second time changes nothing. */
  add(notice: EndedJobNotice, body: string): Promise<void>;
  /** The newest first; undefined where `after` is not known. */
  list(options: ListOptions): Promise<{ webhooks: ShownWebhook[]; next: string | null } | undefined>;
  get(id: string): Promise<ShownWebhook | undefined>;
  /**
   * Sends a webhook again, at once and with the same id, and retries it for another day. One that waits for its next attempt is sent now.
   *
   * @throws {GatewayError} `conflict` while it is being sent
   */
  replay(id: string): Promise<ShownWebhook | undefined>;
  close(): Promise<void>;
}

const DAY_SECONDS = 86_400;
const KEPT = { age: 7 * DAY_SECONDS, count: 10_000 } as const;
/** What is listed at most, of all keys or of one. */
const MAX_LISTED = 20_000;
/** The longest life of a webhook: a day until it has failed, and a week in the log. */
const LISTED_MS = 9 * DAY_SECONDS * 1000;
/** Looked at for one page of those with a status. */
const MAX_SCANNED = 1000;
const SCAN_PAGE = 100;

/** @param redis stays its owner's; its commands fail or wait as that connection's do */
export function createWebhookLog(redis: Redis, onError: (error: unknown) => void): WebhookLog {
  const queue = new Queue(WEBHOOK_QUEUE, { connection: redis, prefix: QUEUE_PREFIX });
  queue.on('error', onError);

  const add = async ({ id, ...notice }: EndedJobNotice, body: string) => {
    const { keyId } = notice;
    const delivery: Delivery = { ...notice, body, sentTo: null, attempts: [] };
    const nowMs = Date.now();
    const listing = redis.multi();
    for (const key of [webhookListKey(null), webhookListKey(keyId)])
      listing
        .zadd(key, 'NX', nowMs, id)
        .zremrangebyscore(key, '-inf', nowMs - LISTED_MS)
        .zremrangebyrank(key, 0, -MAX_LISTED - 1)
        .pexpire(key, LISTED_MS);
    await listing.exec();
    await queue.add('job-ended', delivery, {
      jobId: id,
      timestamp: nowMs,
      attempts: RETRY_DELAYS_MS.length + 1,
      backoff: { type: 'custom' },
      removeOnComplete: KEPT,
      removeOnFail: KEPT,
      stackTraceLimit: 0,
    });
  };

  const list = async ({ keyId, status, limit, after }: ListOptions) => {
    const key = webhookListKey(keyId ?? null);
    const before = after === undefined ? -1 : await redis.zrevrank(key, after);
    if (before === null) return undefined;
    const webhooks: ShownWebhook[] = [];
    let last: string | undefined;
    for (let scanned = 0; scanned < MAX_SCANNED; ) {
      const from = before + 1 + scanned;
      const ids = await redis.zrevrange(key, from, from + SCAN_PAGE - 1);
      for (const id of ids) {
        if (webhooks.length === limit) return { webhooks, next: last ?? null };
        scanned += 1;
        last = id;
        const shown = await shownWebhook(queue, id);
        if (shown !== undefined && (status === undefined || shown.status === status)) webhooks.push(shown);
      }
      if (ids.length < SCAN_PAGE) return { webhooks, next: null };
    }
    return { webhooks, next: last ?? null };
  };

  return {
    add,
    list,
    get: async (id) => (WEBHOOK_ID.test(id) ? shownWebhook(queue, id) : undefined),
    replay: async (id) => {
      const job: Job | undefined = WEBHOOK_ID.test(id) ? await queue.getJob(id) : undefined;
      if (job === undefined) return undefined;
      const state = await job.getState();
      try {
        if (state === 'completed' || state === 'failed')
          await job.retry(state, { resetAttemptsMade: true, resetAttemptsStarted: true });
        else if (state === 'delayed') await job.promote();
        else throw new Error(`the webhook is ${state}`);
      } catch (error) {
        throw new GatewayError('conflict', {
          message: `The webhook '${id}' is being sent. Check again in a few seconds.`,
          cause: error,
        });
      }
      return shownWebhook(queue, id);
    },
    close: () => queue.close(),
  };
}
