import { shownWebhookUrl, type WebhookAttempt } from '@gateway/contracts/webhooks';
import { oncePerOutage } from '@gateway/redis/once-per-outage';
import { openRedis } from '@gateway/redis/open-redis';
import { DelayedError, type Job, UnrecoverableError, Worker } from 'bullmq';
import { closeInTime } from '../redis/close-in-time.ts';
import { QUEUE_PREFIX } from '../redis/job-keys.ts';
import { Delivery, MAX_SHOWN_ATTEMPTS, WEBHOOK_QUEUE } from './delivery.ts';
import { RETRY_DELAYS_MS, retryDelayMs } from './retry-delays.ts';

/** The result of an attempt. */
export interface WebhookOutcome {
  /** Where it went; null where there is no address to send it to. */
  readonly url: string | null;
  /** The receiver's; null where it did not answer. */
  readonly status: number | null;
  /** Null: it was delivered. */
  readonly error: string | null;
  /** Another attempt would fail as well. */
  readonly isFinal: boolean;
}

/** One attempt, for its log line and the metrics. */
export interface FinishedAttempt extends Omit<Delivery, 'body' | 'attempts' | 'url' | 'sentTo'> {
  readonly webhookId: string;
  /** Which attempt this was, from 1; replays start over. */
  readonly attempt: number;
  readonly outcome: WebhookOutcome;
  readonly durationMs: number;
}

export interface WebhookWorkerOptions {
  readonly redisUrl: string;
  /** Sends one webhook. Never rejects for what its receiver does; bounds the time. */
  readonly send: (webhook: {
    readonly id: string;
    readonly keyId: string;
    readonly url: string | null;
    readonly body: string;
  }) => Promise<WebhookOutcome>;
  readonly onAttempt: (attempt: FinishedAttempt) => void;
  /** Called for lost connections and the like, which the worker recovers from itself. */
  readonly onError: (error: unknown) => void;
  readonly retryDelaysMs?: readonly number[];
}

export interface WebhookWorker {
  /** Begins no more attempts and lets those under way finish; those that do not are made again elsewhere. */
  close(options: { drainTimeoutMs: number }): Promise<void>;
}

/** How many webhooks one process sends at a time, in all and for one key: a slow receiver delays only its own. */
const CONCURRENCY = 16;
const MAX_PER_KEY = 4;
/** How soon a webhook is tried again whose key has enough under way. */
const CROWDED_DELAY_MS = 500;
/** How often a webhook is taken over from a dead worker: it may be sent twice, but is never lost. */
const MAX_TAKEOVERS = 10;
/** How long a silent worker keeps its webhooks, and how often the others look for such. */
const TAKEOVER = { lockDuration: 10_000, stalledInterval: 10_000 } as const;

/**
 * Sends webhooks until it is closed.
 *
 * @throws {Error} when Redis does not answer at the start
 */
export async function createWebhookWorker(options: WebhookWorkerOptions): Promise<WebhookWorker> {
  const { redisUrl, send, onAttempt, retryDelaysMs = RETRY_DELAYS_MS } = options;
  const onError = oncePerOutage(options.onError);
  const redis = await openRedis(redisUrl, 'worker', onError);
  const sending = new Map<string, number>();

  const attempt = async (job: Job, delivery: Delivery): Promise<void> => {
    const { jobId, keyId, requestId, traceparent, url, body } = delivery;
    const webhookId = job.id ?? '';
    const startedAt = new Date();
    const started = performance.now();
    const outcome = await send({ id: webhookId, keyId, url, body });
    const durationMs = Math.round(performance.now() - started);
    const { status, error, isFinal } = outcome;
    const made: WebhookAttempt = { at: startedAt.toISOString(), status, error, durationMs };
    await job.updateData({
      ...delivery,
      sentTo: outcome.url === null ? delivery.sentTo : shownWebhookUrl(outcome.url),
      attempts: [...delivery.attempts, made].slice(-MAX_SHOWN_ATTEMPTS),
    } satisfies Delivery);
    const finished = { webhookId, jobId, keyId, requestId, traceparent, attempt: job.attemptsMade + 1 };
    onAttempt({ ...finished, outcome, durationMs });
    if (error !== null) throw isFinal ? new UnrecoverableError(error) : new Error(error);
  };

  const process = async (job: Job, token = ''): Promise<void> => {
    const delivery = Delivery.parse(job.data);
    const count = sending.get(delivery.keyId) ?? 0;
    if (count >= MAX_PER_KEY) {
      await job.moveToDelayed(Date.now() + CROWDED_DELAY_MS, token);
      throw new DelayedError();
    }
    sending.set(delivery.keyId, count + 1);
    try {
      await attempt(job, delivery);
    } finally {
      const left = (sending.get(delivery.keyId) ?? 1) - 1;
      if (left === 0) sending.delete(delivery.keyId);
      else sending.set(delivery.keyId, left);
    }
  };

  const worker = new Worker(WEBHOOK_QUEUE, process, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    concurrency: CONCURRENCY,
    maxStalledCount: MAX_TAKEOVERS,
    ...TAKEOVER,
    settings: { backoffStrategy: (attempts) => retryDelayMs(attempts, retryDelaysMs, Math.random) },
  });
  worker.on('error', onError);
  await worker.waitUntilReady();
  return {
    close: async ({ drainTimeoutMs }) => {
      const workMs = sending.size === 0 ? 0 : drainTimeoutMs;
      await closeInTime(worker.close(), workMs);
      redis.disconnect();
    },
  };
}
