import { type ShownWebhook, WebhookAttempt } from '@gateway/contracts/webhooks';
import type { Job, Queue } from 'bullmq';
import { z } from 'zod';

/** All processes share one queue of webhooks: any worker sends any of them. */
export const WEBHOOK_QUEUE = 'webhook';

/** The data of one webhook in its queue, which is also its log. */
export const Delivery = z.strictObject({
  jobId: z.string(),
  keyId: z.string(),
  requestId: z.string(),
  /** As the job's request named it; null: that of the key at the time of each attempt. */
  url: z.string().nullable(),
  body: z.string(),
  /** Where the last attempt went, fit for people. */
  sentTo: z.string().nullable(),
  /** Of the span that queued the job. Absent: no traces are exported there. */
  traceparent: z.string().optional(),
  attempts: z.array(WebhookAttempt),
});
export type Delivery = z.infer<typeof Delivery>;

/** Replays add attempts for ever; the log shows the latest. */
export const MAX_SHOWN_ATTEMPTS = 20;

/**
 * One webhook for each end of a job: several processes may see the same end and queue it.
 *
 * @param requeues how often a failed job has been queued again; it ends again
 */
export const webhookIdOf = (jobId: string, requeues = 0): string =>
  jobId.replace(/^job_/, 'msg_') + (requeues === 0 ? '' : `_${requeues}`);

export const WEBHOOK_ID = /^msg_[0-9a-f]{32}(_\d{1,6})?$/;

const instant = (ms: number): string => new Date(ms).toISOString();

/** A webhook as the admin API shows it; undefined where there is none. */
export async function shownWebhook(queue: Queue, id: string): Promise<ShownWebhook | undefined> {
  // The state first: of a webhook that waits meanwhile for its next attempt the job then says for how long.
  const state = await queue.getJobState(id);
  const job: Job | undefined = await queue.getJob(id);
  if (job === undefined) return undefined;
  const { jobId, keyId, requestId, sentTo, attempts } = Delivery.parse(job.data);
  const status = state === 'completed' ? 'delivered' : state === 'failed' ? 'failed' : 'pending';
  return {
    id,
    jobId,
    keyId,
    requestId,
    url: sentTo,
    status,
    createdAt: instant(job.timestamp),
    nextAttemptAt: state === 'delayed' ? instant(lastEndMs(attempts, job.timestamp) + job.delay) : null,
    attempts,
  };
}

function lastEndMs(attempts: readonly WebhookAttempt[], madeAtMs: number): number {
  const last = attempts.at(-1);
  return last === undefined ? madeAtMs : Date.parse(last.at) + last.durationMs;
}
