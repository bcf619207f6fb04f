import { JobKind, type JobStatus } from '@gateway/contracts/jobs';
import type { Job, JobState, Queue } from 'bullmq';
import { failureOf, type JobFiles } from '../files/job-files.ts';
import { type JobRecord, parseEnvelope } from '../job-envelope.ts';

const STATUS_OF: Readonly<Record<Exclude<JobState, 'delayed'> | 'unknown', JobStatus>> = {
  waiting: 'queued',
  'waiting-children': 'queued',
  prioritized: 'queued',
  active: 'in_progress',
  completed: 'completed',
  failed: 'failed',
  unknown: 'failed',
};

/** Jobs are delayed between two attempts, and while they are parked because their key has enough at work. */
export const statusOf = (state: JobState | 'unknown', attemptsStarted: number): JobStatus => {
  if (state === 'delayed') return attemptsStarted > 0 ? 'in_progress' : 'queued';
  return STATUS_OF[state];
};

/** What BullMQ knows of a job, in our words. */
export async function recordOf(
  queue: Pick<Queue, 'getJob'>,
  id: string,
  found: Job,
  files: JobFiles,
): Promise<JobRecord> {
  const kind = JobKind.parse(found.name);
  const { keyId, model, claim } = parseEnvelope(kind, found.data);
  const state = await found.getState();
  // It may have ended since it was found: how it ended is read again then.
  const hasJustEnded = (state === 'failed' || state === 'completed') && found.finishedOn === undefined;
  const job = (hasJustEnded ? await queue.getJob(id) : undefined) ?? found;
  const error =
    state === 'failed' && job.failedReason !== undefined
      ? await failureOf(files, id, job.failedReason)
      : null;
  return {
    id,
    kind,
    keyId,
    model,
    status: error?.code === 'job_cancelled' ? 'cancelled' : statusOf(state, job.attemptsStarted),
    createdAtMs: job.timestamp,
    startedAtMs: job.processedOn ?? null,
    finishedAtMs: job.finishedOn ?? null,
    error: error?.serialize() ?? null,
    ...(claim && { claim }),
  };
}

/** Whether the job has ended for good. */
export const hasEnded = ({ status }: Pick<JobRecord, 'status'>): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';
