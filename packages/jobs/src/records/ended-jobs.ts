import type { GatewayError } from '@gateway/contracts/gateway-error';
import { JobKind } from '@gateway/contracts/jobs';
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { JOBS } from '../catalog.ts';
import { failureOf, type JobFiles } from '../files/job-files.ts';
import { JobRecord, parseEnvelope } from '../job-envelope.ts';
import { endedKey } from '../redis/job-keys.ts';

/** A job's record with its reason as Redis keeps it: a long one lies in a file. */
const EndedJob = JobRecord.omit({ error: true }).extend({ reason: z.string().nullable() });
type EndedJob = z.infer<typeof EndedJob>;

/** Longer than any result is kept (`results/kept-results.ts`), so that its caller learns that it has expired. */
const rememberedSeconds = (kind: JobKind): number => 2 * JOBS[kind].resultRetentionSeconds;

async function keep(redis: Redis, ended: EndedJob): Promise<void> {
  await redis.set(endedKey(ended.id), JSON.stringify(ended), 'EX', rememberedSeconds(ended.kind));
}

/** How a job ended: without an error it has a result; the reason is the error as it was stored. */
export interface JobEnd {
  readonly error: GatewayError | undefined;
  readonly reason: string | null;
}

/**
 * Keeps how a job ended, for longer than the queue does. Call it before the end is published: a client that gets
 * that event may look for the job at once.
 */
export async function keepEnd(redis: Redis, job: Job, { error, reason }: JobEnd): Promise<void> {
  const kind = JobKind.parse(job.name);
  const { keyId, model, claim } = parseEnvelope(kind, job.data);
  const status = error === undefined ? 'completed' : error.code === 'job_cancelled' ? 'cancelled' : 'failed';
  await keep(redis, {
    id: job.id ?? '',
    kind,
    keyId,
    model,
    status,
    createdAtMs: job.timestamp,
    startedAtMs: job.processedOn ?? null,
    finishedAtMs: Date.now(),
    reason,
    ...(claim && { claim }),
  });
}

/** Keeps the record of a job that is in no queue. */
export async function keepRecord(redis: Redis, record: JobRecord, reason: string | null): Promise<void> {
  const { error: _, ...rest } = record;
  await keep(redis, { ...rest, reason });
}

/** Reads how a job ended from its record in Redis. */
export async function readEnded(text: string, files: JobFiles): Promise<JobRecord> {
  const { reason, ...ended } = EndedJob.parse(JSON.parse(text));
  const error = reason === null ? null : (await failureOf(files, ended.id, reason)).serialize();
  return { ...ended, error };
}
