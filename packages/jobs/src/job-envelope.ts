import { SerializedError } from '@gateway/contracts/gateway-error';
import { JobKind, JobStatus } from '@gateway/contracts/jobs';
import { z } from 'zod';
import { JobMetering } from './job-metering.ts';

/** What lies in the queue for one job. `input` is checked by its kind's own schema. */
export const JobEnvelope = z.strictObject({
  keyId: z.string(),
  /** Of the request that made the job; the worker logs under it. */
  requestId: z.string(),
  input: z.unknown(),
  /** What was reserved for it, for whoever ends it to settle. Absent: it is not metered. */
  metering: JobMetering.optional(),
});
export type JobEnvelope = z.infer<typeof JobEnvelope>;

/** What can be said of a job at any time. Times are Unix milliseconds. */
export const JobRecord = z.strictObject({
  id: z.string(),
  kind: JobKind,
  keyId: z.string(),
  model: z.string(),
  status: JobStatus,
  createdAtMs: z.number(),
  startedAtMs: z.number().nullable(),
  finishedAtMs: z.number().nullable(),
  /** When the outcome is forgotten. */
  expiresAtMs: z.number().nullable(),
  error: SerializedError.nullable(),
});
export type JobRecord = z.infer<typeof JobRecord>;
