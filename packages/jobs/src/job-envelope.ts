import { SerializedError } from '@gateway/contracts/gateway-error';
import { JobShare } from '@gateway/contracts/identity';
import { BatchCounts, JobKind, JobStatus } from '@gateway/contracts/jobs';
import { ConsumedUsage } from '@gateway/contracts/usage/usage-record';
import { z } from 'zod';
import { JOBS, type JobInput } from './catalog.ts';
import { JobMetering } from './job-metering.ts';

/**
 * The data of one job in its queue. It holds references only, so that each job is small in Redis. One that was made by a newer version
 * may have more members: it is listed and cancelled without them, and not begun.
 */
export const JobEnvelope = z.object({
  keyId: z.string(),
  /** The id of the request that made the job. The worker logs under it. */
  requestId: z.string(),
  /** The caller's name for it. */
  model: z.string(),
  /** The file that holds the input, which its kind's own schema checks. */
  inputId: z.string(),
  /** Every file that the job is given, its input among them. They are deleted when it has ended. */
  uploads: z.array(z.string()),
  /** What was reserved for it, for the process that ends it to settle. Absent: it is not metered. */
  metering: JobMetering.optional(),
  /** What attempts have used after which it is tried again. Absent: nothing that is known. */
  consumedBefore: ConsumedUsage.optional(),
  /**
   * Whether the job goes on without its caller. Its texts are kept for later readers. If it fails before its
   * work was done, its files are kept, so that it can be queued again.
   */
  isDetached: z.boolean().optional(),
  /** The key of its idempotency claim in Redis. The job runs only as long as no other job has taken the claim over. */
  claim: z.string().optional(),
  /** Where its end is to be reported, from its request. */
  webhook: z.string().optional(),
  /** The span by which it was queued, for its worker to continue. Absent: no traces are exported there. */
  traceparent: z.string().optional(),
  /** Its caller does not want it in the content log. */
  contentLog: z.literal('off').optional(),
  /** The batch that this job is a line of. The job begins only while the batch is not cancelled. */
  batchId: z.string().optional(),
  /** How often a person has queued it again. */
  requeues: z.int().optional(),
  /** Whether its begin is marked beside its input. Absent in jobs from before these marks. */
  marksBegin: z.literal(true).optional(),
  /** The priority and weight of its key's jobs among others'. Absent: the defaults. */
  share: z.object(JobShare.shape).optional(),
});
export type JobEnvelope = z.infer<typeof JobEnvelope>;

/** A job with something that this version does not know, which a worker of a newer one has made sense of when it does the job. */
export class NewerJob extends Error {
  override readonly name = 'NewerJob';
}

const newerJob = (kind: string, cause: z.ZodError | undefined): NewerJob =>
  new NewerJob(`jobs of another version are left to its workers: ${kind}: ${cause?.message}`, { cause });

const WholeEnvelope = JobEnvelope.extend({ share: JobShare.optional() }).strict();

/** A job's input, where nothing of the job is unknown. Its maker has checked it by its own version's schema. */
export function parseWhole<Kind extends JobKind>(
  kind: Kind,
  data: unknown,
  { input, isInline }: { readonly input: unknown; readonly isInline: boolean },
): JobInput<Kind> | NewerJob {
  const envelope = isInline ? undefined : WholeEnvelope.safeParse(data).error;
  const parsed = JOBS[kind].input.safeParse(input);
  if (envelope === undefined && parsed.success) return parsed.data;
  return newerJob(kind, envelope ?? parsed.error);
}

/**
 * A job from before inputs lay in files. A queued job outlives a deploy. Remove this in 2027, when nobody
 * updates from a version of November 2026 any more.
 */
const InlineEnvelope = z.strictObject({
  keyId: z.string(),
  requestId: z.string(),
  input: z.unknown(),
  metering: JobMetering.optional(),
});
const InlineInput = z.object({ model: z.string() });

/** What is known of a queued job. */
export interface QueuedJob
  extends Pick<
    JobEnvelope,
    | 'keyId'
    | 'requestId'
    | 'model'
    | 'uploads'
    | 'metering'
    | 'consumedBefore'
    | 'share'
    | 'marksBegin'
    | 'isDetached'
    | 'claim'
    | 'webhook'
    | 'traceparent'
    | 'contentLog'
    | 'batchId'
    | 'requeues'
  > {
  /** In a file, or in the envelope itself. In the second case the waiting service expects the output in the job as well. */
  readonly input: { readonly inputId: string } | { readonly inline: unknown };
}

export function parseEnvelope(kind: JobKind, data: unknown): QueuedJob {
  const inline = InlineEnvelope.safeParse(data);
  if (!inline.success) {
    const { inputId, ...envelope } = JobEnvelope.parse(data);
    return { ...envelope, input: { inputId } };
  }
  const { input, ...envelope } = inline.data;
  const { model } = InlineInput.parse(input);
  return { ...envelope, model, uploads: uploadsOf(kind, input), input: { inline: input } };
}

/** What is known of a job in its queue, which may be of a kind, or have a value, that this version does not know. */
export function knownJob({
  name,
  data,
}: {
  readonly name: string;
  readonly data: unknown;
}): QueuedJob | NewerJob {
  const kind = JobKind.safeParse(name);
  if (!kind.success) return newerJob(name, kind.error);
  try {
    return parseEnvelope(kind.data, data);
  } catch (thrown) {
    if (thrown instanceof z.ZodError) return newerJob(name, thrown);
    throw thrown;
  }
}

/** The uploads that a job of this kind reads. */
export function uploadsOf<Kind extends JobKind>(kind: Kind, input: unknown): string[] {
  const spec = JOBS[kind];
  return spec.uploadsOf(spec.input.parse(input));
}

/** What is remembered of a job, with or without its result. Times are Unix milliseconds. */
export const JobRecord = z.object({
  id: z.string(),
  kind: JobKind,
  keyId: z.string(),
  model: z.string(),
  status: JobStatus,
  createdAtMs: z.number(),
  startedAtMs: z.number().nullable(),
  finishedAtMs: z.number().nullable(),
  error: SerializedError.nullable(),
  claim: z.string().optional(),
  /** Only for a batch. */
  counts: BatchCounts.optional(),
});
export type JobRecord = z.infer<typeof JobRecord>;
