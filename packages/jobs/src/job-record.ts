import type { JobKind, JobStatus } from '@gateway/contracts/jobs';
import type { Job, JobState } from 'bullmq';
import { JOBS } from './catalog.ts';
import { type JobRecord, parseEnvelope } from './job-envelope.ts';
import { failureOf, type JobFiles } from './job-files.ts';

const STATUS_OF: Readonly<Record<Exclude<JobState, 'delayed'> | 'unknown', JobStatus>> = {
  waiting: 'queued',
  'waiting-children': 'queued',
  prioritized: 'queued',
  active: 'in_progress',
  completed: 'completed',
  failed: 'failed',
  unknown: 'failed',
};

/** Delayed are jobs between two attempts, and those that are parked because their key has enough at work. */
const statusOf = (state: JobState | 'unknown', attemptsStarted: number): JobStatus => {
  if (state === 'delayed') return attemptsStarted > 0 ? 'in_progress' : 'queued';
  return STATUS_OF[state];
};

/** What BullMQ knows of a job, in our words. */
export async function recordOf(kind: JobKind, id: string, job: Job, files: JobFiles): Promise<JobRecord> {
  const { keyId, model, claim } = parseEnvelope(kind, job.data);
  const state = await job.getState();
  const error = state === 'failed' ? await failureOf(files, id, job.failedReason) : null;
  const finishedAtMs = job.finishedOn ?? null;
  return {
    id,
    kind,
    keyId,
    model,
    status: error?.code === 'job_cancelled' ? 'cancelled' : statusOf(state, job.attemptsStarted),
    createdAtMs: job.timestamp,
    startedAtMs: job.processedOn ?? null,
    finishedAtMs,
    expiresAtMs: finishedAtMs === null ? null : finishedAtMs + JOBS[kind].resultRetentionSeconds * 1000,
    error: error?.serialize() ?? null,
    ...(claim && { claim }),
  };
}

/** Whether nothing more will become of it. */
export const hasEnded = ({ status }: Pick<JobRecord, 'status'>): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';
