import { JobKind, JobStatus } from '@gateway/contracts/jobs';
import type { Job } from 'bullmq';
import { z } from 'zod';
import { parseEnvelope } from '../job-envelope.ts';
import { statusOf } from './job-record.ts';

/** What is remembered of a job that has ended. */
export const Remembered = z.object({
  kind: JobKind,
  keyId: z.string(),
  model: z.string(),
  status: JobStatus,
  createdAtMs: z.number(),
  startedAtMs: z.number().nullable(),
  finishedAtMs: z.number().nullable(),
  reason: z.string().nullish(),
});
export type Remembered = z.infer<typeof Remembered>;

/** The same of a job that is in a queue. */
export async function recordIn(job: Job): Promise<Remembered> {
  const kind = JobKind.parse(job.name);
  const { keyId, model } = parseEnvelope(kind, job.data);
  const status = statusOf(await job.getState(), job.attemptsStarted);
  return {
    ...{ kind, keyId, model, status },
    createdAtMs: job.timestamp,
    startedAtMs: job.processedOn ?? null,
    finishedAtMs: job.finishedOn ?? null,
    reason: status === 'completed' ? null : job.failedReason,
  };
}
