import type { JobKind, JobStatus } from '@gateway/contracts/jobs';
import type { Job, JobState } from 'bullmq';
import { z } from 'zod';
import { JOBS } from './catalog.ts';
import { JobEnvelope, type JobRecord } from './job-envelope.ts';
import { decodeFailure } from './job-failure.ts';

const STATUS_OF: Readonly<Record<JobState | 'unknown', JobStatus>> = {
  waiting: 'queued',
  'waiting-children': 'queued',
  prioritized: 'queued',
  active: 'in_progress',
  // Between two attempts.
  delayed: 'in_progress',
  completed: 'completed',
  failed: 'failed',
  unknown: 'failed',
};

const Named = z.object({ model: z.string() });

/** What BullMQ knows of a job, in our words. */
export async function recordOf(kind: JobKind, id: string, job: Job): Promise<JobRecord> {
  const { keyId, input } = JobEnvelope.parse(job.data);
  const state = await job.getState();
  const error = state === 'failed' ? decodeFailure(job.failedReason) : null;
  const finishedAtMs = job.finishedOn ?? null;
  return {
    id,
    kind,
    keyId,
    model: Named.parse(input).model,
    status: error?.code === 'job_cancelled' ? 'cancelled' : STATUS_OF[state],
    createdAtMs: job.timestamp,
    startedAtMs: job.processedOn ?? null,
    finishedAtMs,
    expiresAtMs: finishedAtMs === null ? null : finishedAtMs + JOBS[kind].resultRetentionSeconds * 1000,
    error: error?.serialize() ?? null,
  };
}
