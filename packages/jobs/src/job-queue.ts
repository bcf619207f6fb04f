import { GatewayError } from '@gateway/contracts/gateway-error';
import { JobKind } from '@gateway/contracts/jobs';
import { Queue } from 'bullmq';
import type { ZodType } from 'zod';
import type { AssetStore } from './asset-store.ts';
import { cancelJob, unstarted } from './cancel-job.ts';
import { JOBS, type JobInput, type JobOutput } from './catalog.ts';
import { connectPatiently, connectPromptly } from './job-connections.ts';
import { type JobEnvelope, JobRecord, uploadsOf } from './job-envelope.ts';
import { toJobError } from './job-failure.ts';
import { type JobFiles, storeInput } from './job-files.ts';
import { cancelledKey, newJobId, QUEUE_PREFIX } from './job-keys.ts';
import { listenToJobs } from './job-listener.ts';
import type { JobMetering, SettleJob } from './job-metering.ts';
import { recordOf } from './job-record.ts';
import { oncePerOutage } from './once-per-outage.ts';
import type { UploadStore } from './upload-store.ts';

export interface JobQueueOptions<Kind extends JobKind> {
  readonly redisUrl: string;
  /** What this process enqueues. */
  readonly kinds: readonly Kind[];
  /** Waiting jobs per queue before callers are refused. */
  readonly maxWaiting: number;
  /** Where jobs' inputs and uploads lie; those of a job cancelled before its start are deleted. */
  readonly uploads: UploadStore;
  /** Where their outputs lie. The workers have the same. */
  readonly assets: Pick<AssetStore, 'put' | 'open'>;
  /** Accounts for metered jobs that never start. */
  readonly settle?: SettleJob;
  readonly now: () => number;
  /** Told of lost connections and the like; they are dealt with here. */
  readonly onError: (error: unknown) => void;
}

export interface JobOwner {
  readonly keyId: string;
  readonly requestId: string;
  /** What has been reserved for the job, whose id is the subject's. Whatever becomes of the job, this is settled. */
  readonly metering?: JobMetering;
}

/** A job that somebody in this process waits for. */
export interface JobHandle<Output> {
  /** `job_…` */
  readonly id: string;
  /** What the job emits while it runs, in order; ends with the job. For one reader. */
  readonly events: AsyncIterable<string>;
  /**
   * The job's output. When the signal aborts, the job is cancelled and the signal's reason thrown.
   *
   * @throws {GatewayError} the job's own failure, `job_cancelled`, `outcome_unknown`, or `service_timeout`
   */
  result(signal: AbortSignal): Promise<Output>;
  /** Takes a queued job out of the line and stops a running one, in whatever process it runs. Does nothing to an ended one. */
  cancel(): Promise<void>;
}

export interface JobQueue<Kinds extends JobKind> {
  /**
   * Refuses when the line is full. For requests with files, to be asked before the files are read.
   *
   * @throws {GatewayError} `queue_full`, `service_unavailable`
   */
  ensureRoom(kind: Kinds): Promise<void>;
  /** @throws {GatewayError} `queue_full` before anything is stored, `service_unavailable` */
  enqueue<Kind extends Kinds>(
    kind: Kind,
    input: JobInput<Kind>,
    owner: JobOwner,
  ): Promise<JobHandle<JobOutput<Kind>>>;
  /** The same for a job that nobody waits for: it ends whether or not this process lives. Resolves to its id. @throws {GatewayError} as `enqueue` */
  submit<Kind extends Kinds>(kind: Kind, input: JobInput<Kind>, owner: JobOwner): Promise<string>;
  /** As `JobHandle.cancel`, for a job of any process. Does nothing to one that is not there. */
  cancel(kind: Kinds, jobId: string): Promise<void>;
  /** What is known of a job, if it is this key's. @throws {GatewayError} `service_unavailable` */
  find(jobId: string, keyId: string): Promise<JobRecord | undefined>;
  /** Whether Redis answers. */
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

/** How soon a refused caller may try again: about the time in which a few places become free. */
const FULL_RETRY_AFTER_SECONDS = 5;
const AWAY_RETRY_AFTER_SECONDS = 5;
/** Ended jobs that are remembered per queue, whatever their age. */
const MAX_REMEMBERED = 10_000;

/**
 * The waiting side of the queues. Its requests fail promptly while Redis is away; cancellations are kept until it is back.
 *
 * @throws {Error} when Redis does not answer at the start
 */
export async function createJobQueue<Kinds extends JobKind>(
  options: JobQueueOptions<Kinds>,
): Promise<JobQueue<Kinds>> {
  const { redisUrl, kinds, maxWaiting, uploads, assets, settle, now } = options;
  const files: JobFiles = { uploads, assets };
  const onError = oncePerOutage(options.onError);
  const prompt = await connectPromptly(redisUrl, onError);
  const patient = await connectPatiently(redisUrl, onError);
  const names = new Set(kinds.map((kind) => JOBS[kind].queue));
  const lines = new Map(
    await Promise.all(
      [...names].map(async (name) => {
        const queue = openQueue(name, prompt, onError);
        const patientQueue = openQueue(name, patient, onError);
        const listener = await listenToJobs({ queue: patientQueue, redis: patient, files, onError });
        return [name, { queue, patientQueue, listener }] as const;
      }),
    ),
  );
  const lineOf = (kind: Kinds) => {
    const line = lines.get(JOBS[kind].queue);
    if (line === undefined) throw new Error(`this process does not enqueue ${kind}`);
    return line;
  };

  const ensureRoom = async (kind: Kinds) => {
    const waiting = await unlessAway(lineOf(kind).queue.getWaitingCount());
    if (waiting < maxWaiting) return;
    throw new GatewayError('queue_full', {
      message: `The queue is full: ${waiting} jobs are waiting. Please try again in ${FULL_RETRY_AFTER_SECONDS}s.`,
      retryAfterSeconds: FULL_RETRY_AFTER_SECONDS,
    });
  };

  /** Stores a job whose id is known already. Whatever goes wrong, what was reserved for it is settled. */
  const store = async <Kind extends Kinds>(
    id: string,
    kind: Kind,
    input: JobInput<Kind>,
    { keyId, requestId, metering }: JobOwner,
  ): Promise<void> => {
    const neverStarted = (error: unknown) =>
      metering && settle?.(metering.subject, unstarted(metering, toJobError(error)));
    await ensureRoom(kind).catch((error: unknown) => {
      neverStarted(error)?.catch(onError);
      throw error;
    });
    const spec = JOBS[kind];
    const checked = spec.input.parse(input);
    const inputId = await storeInput(files, checked).catch((error: unknown) => {
      neverStarted(error)?.catch(onError);
      throw error;
    });
    const envelope: JobEnvelope = {
      keyId,
      requestId,
      model: input.model,
      inputId,
      uploads: [inputId, ...uploadsOf(kind, checked)],
      ...(metering && { metering }),
    };
    const kept = { age: spec.resultRetentionSeconds, count: MAX_REMEMBERED };
    try {
      await unlessAway(
        lineOf(kind).queue.add(kind, envelope, {
          jobId: id,
          timestamp: now(),
          attempts: spec.attempts,
          backoff: { type: 'custom' },
          removeOnComplete: kept,
          removeOnFail: kept,
          stackTraceLimit: 0,
        }),
      );
    } catch (error) {
      // A command that timed out may have been carried out all the same.
      cancel(kind, id)
        .then((found) => (found ? undefined : Promise.all([neverStarted(error), uploads.delete(inputId)])))
        .catch(onError);
      throw error;
    }
  };
  const cancel = (kind: Kinds, id: string) =>
    cancelJob({ id, queue: lineOf(kind).patientQueue, redis: patient, files, settle });
  const idFor = ({ metering }: JobOwner) => metering?.subject.id ?? newJobId();

  return {
    ensureRoom,
    submit: async (kind, input, owner) => {
      const id = idFor(owner);
      await store(id, kind, input, owner);
      return id;
    },
    cancel: async (kind, jobId) => void (await cancel(kind, jobId)),
    enqueue: async <Kind extends Kinds>(kind: Kind, input: JobInput<Kind>, owner: JobOwner) => {
      const spec = JOBS[kind];
      const id = idFor(owner);
      const waiter = lineOf(kind).listener.wait(id);
      try {
        await store(id, kind, input, owner);
        waiter.stored();
      } catch (error) {
        waiter.settle({ error: toJobError(error) });
        throw error;
      }
      const timer = setTimeout(() => {
        waiter.settle({ error: waitedTooLong() });
        cancel(kind, id).catch(onError);
      }, spec.waitLimitMs);
      const settled = () => clearTimeout(timer);
      waiter.outcome.then(settled, settled);

      return {
        id,
        events: waiter.texts,
        cancel: async () => void (await cancel(kind, id)),
        result: async (signal) => {
          const leave = () => {
            cancel(kind, id).catch(onError);
            waiter.settle({ error: leaving(signal.reason) });
          };
          if (signal.aborted) leave();
          signal.addEventListener('abort', leave, { once: true });
          try {
            return outputAs(spec.output, await waiter.outcome);
          } finally {
            signal.removeEventListener('abort', leave);
          }
        },
      };
    },
    find: async (jobId, keyId) => {
      const cancelled = await unlessAway(prompt.get(cancelledKey(jobId)));
      if (cancelled !== null) return ownedBy(keyId, JobRecord.parse(JSON.parse(cancelled)));
      for (const { queue } of lines.values()) {
        const job = await unlessAway(queue.getJob(jobId));
        if (job !== undefined)
          return ownedBy(keyId, await unlessAway(recordOf(JobKind.parse(job.name), jobId, job, files)));
      }
      return undefined;
    },
    isReady: async () => (await prompt.ping()) === 'PONG',
    close: async () => {
      for (const { listener } of lines.values()) await listener.close();
      prompt.disconnect();
      patient.disconnect();
    },
  };
}

function openQueue(
  name: string,
  connection: Awaited<ReturnType<typeof connectPromptly>>,
  onError: (error: unknown) => void,
) {
  const queue = new Queue(name, { connection, prefix: QUEUE_PREFIX });
  queue.on('error', onError);
  return queue;
}

/** What is wrong with a finished job's output is our mistake, and the work has been paid for. */
function outputAs<Output>(schema: ZodType<Output>, output: unknown): Output {
  const parsed = schema.safeParse(output);
  if (parsed.success) return parsed.data;
  throw toJobError(parsed.error);
}

const ownedBy = (keyId: string, record: JobRecord): JobRecord | undefined =>
  record.keyId === keyId ? record : undefined;

/** What goes wrong between us and Redis is nothing that a caller did. */
async function unlessAway<Value>(answer: Promise<Value>): Promise<Value> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError('service_unavailable', {
      message: `The queue cannot be reached. Please try again in ${AWAY_RETRY_AFTER_SECONDS}s.`,
      retryAfterSeconds: AWAY_RETRY_AFTER_SECONDS,
      cause: error,
    });
  }
}

const leaving = (reason: unknown): GatewayError =>
  reason instanceof GatewayError
    ? reason
    : new GatewayError('client_closed_request', {
        message: 'The caller left before the job was done.',
        cause: reason,
      });

const waitedTooLong = (): GatewayError =>
  new GatewayError('service_timeout', {
    message: 'The job was not done in time and has been cancelled. Send the request again later.',
    retryAfterSeconds: AWAY_RETRY_AFTER_SECONDS,
  });
