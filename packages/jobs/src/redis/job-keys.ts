import { createHash, randomBytes } from 'node:crypto';
import type { JobArea } from '@gateway/contracts/jobs';

/** Before every key of the queues. The braces keep them in one slot of a Redis Cluster, as BullMQ's scripts need. */
export const QUEUE_PREFIX = 'gateway:{jobs}';

/** The channel that tells workers which jobs are cancelled. Messages are job ids. */
export const CANCEL_CHANNEL = `${QUEUE_PREFIX}:cancel`;

/** A worker that takes a job over publishes its id here; a worker that still runs the job answers on the second channel. */
export const ASK_CHANNEL = `${QUEUE_PREFIX}:ask`;
export const ANSWER_CHANNEL = `${QUEUE_PREFIX}:answer`;

/** A worker subscribes to a channel of its own while it is alive. Nothing is published there. */
export const workerChannel = (workerId: string): string => `${QUEUE_PREFIX}:worker:${workerId}`;

/** The mark of a cancelled job, for the process that takes it later; its value is the job's record. */
export const cancelledKey = (jobId: string): string => `${QUEUE_PREFIX}:cancelled:${jobId}`;

/** A job's result: its owner, its bytes, its assets. The scripts of `results` build the keys of its owner themselves. */
export const resultKey = (jobId: string): string => `${QUEUE_PREFIX}:result:${jobId}`;

/** All jobs with a result, sorted by when the result expires. */
export const RESULTS_KEY = `${QUEUE_PREFIX}:results`;

/** For one key: its jobs with a result, those whose result was fetched, both by when they expire; and the bytes of all. */
export const resultsOfKey = (keyId: string): string => `${QUEUE_PREFIX}:results-of:${keyId}`;
export const deliveredResultsKey = (keyId: string): string => `${QUEUE_PREFIX}:results-delivered:${keyId}`;
export const resultBytesKey = (keyId: string): string => `${QUEUE_PREFIX}:result-bytes:${keyId}`;

/** Exists while a failed job is queued again. */
export const requeueKey = (jobId: string): string => `${QUEUE_PREFIX}:requeue:${jobId}`;
/** How a job ended that a worker did. */
export const endedKey = (jobId: string): string => `${QUEUE_PREFIX}:ended:${jobId}`;

/** The counts of a batch's lines by status. */
export const batchCountsKey = (jobId: string): string => `${QUEUE_PREFIX}:batch:${jobId}`;
/** How far the lines of a batch are that it does itself, and why lines have failed. */
export const lineStatesKey = (jobId: string): string => `${QUEUE_PREFIX}:batch:${jobId}:lines`;
export const lineErrorsKey = (jobId: string): string => `${QUEUE_PREFIX}:batch:${jobId}:errors`;

/** The ids of a key's jobs in one area, by when they were made. */
export const jobListKey = (area: JobArea, keyId: string): string => `${QUEUE_PREFIX}:list:${area}:${keyId}`;

/** The job of a key's idempotency key. The caller's text is kept as a digest: it may be long, or a secret. */
export const claimKey = (keyId: string, idempotencyKey: string): string =>
  `${QUEUE_PREFIX}:claim:${keyId}:${createHash('sha256').update(idempotencyKey).digest('base64url')}`;

/** The ids of webhooks by when they were made: of one key, or of all. */
export const webhookListKey = (keyId: string | null): string =>
  keyId === null ? `${QUEUE_PREFIX}:webhooks` : `${QUEUE_PREFIX}:webhooks:${keyId}`;

/** The log of the texts that a job has emitted, and its head. */
export const textsKey = (jobId: string): string => `${QUEUE_PREFIX}:texts:${jobId}`;
export const textsHeadKey = (jobId: string): string => `${QUEUE_PREFIX}:texts:${jobId}:head`;

/** BullMQ's event stream of a queue. */
export const eventsKey = (queue: string): string => `${QUEUE_PREFIX}:${queue}:events`;

/** `worker_` and 64 random bits. */
export const newWorkerId = (): string => `worker_${randomBytes(8).toString('hex')}`;

/** `job_` and 128 random bits. */
export const newJobId = (): string => `job_${randomBytes(16).toString('hex')}`;

/** The id of the line of a batch, and of its job where it has one: the same whenever it is taken, so that it is taken once. */
export const lineJobId = (batchId: string, line: number): string =>
  `job_${createHash('sha256').update(`${batchId} ${line}`).digest('hex').slice(0, 32)}`;

/** Whether a text that a caller sent can be a job's id at all. */
export const isJobId = (text: string): boolean => /^job_[0-9a-f]{32}$/.test(text);
