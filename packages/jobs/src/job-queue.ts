import type { AssetStore } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { JobShare } from '@gateway/contracts/identity';
import { JobKind } from '@gateway/contracts/jobs';
import { Queue } from 'bullmq';
import type { ZodType } from 'zod';
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
import { createQueuePlaces, type QueuePlace } from './queue-places.ts';
import { createKeptResults, type Delivery } from './results/kept-results.ts';
import { type JobToStore, storeJob } from './store-job.ts';
import { createBegunMarks } from './takeover/begun-marks.ts';
import { reviveJob } from './takeover/revive-job.ts';
import { openWorkerChannel } from './takeover/worker-channel.ts';
import { createJobTurns, type JobPosition, type TurnTaker } from './turns/job-turns.ts';
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
  readonly assets: Pick<AssetStore, 'put' | 'open' | 'delete'>;
  /** Bytes of results that are kept for a key without a limit of its own, before it is refused. */
  readonly maxResultBytes: number;
  /** Accounts for metered jobs that never start. */
  readonly settle?: SettleJob;
  readonly now: () => number;
  /** How often jobs that are waited for are looked up beside what is heard of them. */
  readonly lookUpMs?: number;
  /** Told of lost connections and the like; they are dealt with here. */
  readonly onError: (error: unknown) => void;
}

export interface JobOwner {
  readonly keyId: string;
  readonly requestId: string;
  /** What has been reserved for the job, whose id is the subject's. Whatever becomes of the job, this is settled. */
  readonly metering?: JobMetering;
  /** How its key's jobs stand beside others'. */
  readonly share?: JobShare | undefined;
  /** Its caller comes back for it: where it fails without having been done, its files stay, and it can be queued again. */
  readonly isKept?: boolean;
  /** Where it is to wait; one is reserved if left out. */
  readonly place?: QueuePlace;
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
  /** Its caller has got the result, which is kept for a shorter time from now on. */
  delivered(how: Delivery): void;
  /** Takes a queued job out of the line and stops a running one, in whatever process it runs. Does nothing to an ended one. */
  cancel(): Promise<void>;
}

export interface JobQueue<Kinds extends JobKind> {
  /**
   * Keeps a place for a job, before its files are read. Refuses when the queue is full, or what is free is kept for other keys.
   *
   * @throws {GatewayError} `queue_full`, `result_quota_exhausted`, `service_unavailable`
   */
  reservePlace(kind: Kinds, taker: TurnTaker): Promise<QueuePlace>;
  /** @throws {GatewayError} as `reservePlace`, before anything is stored; `storage_full` */
  enqueue<Kind extends Kinds>(
    kind: Kind,
    input: JobInput<Kind>,
    owner: JobOwner,
  ): Promise<JobHandle<JobOutput<Kind>>>;
  /** What is known of a job, if it is this key's. @throws {GatewayError} `service_unavailable` */
  find(jobId: string, keyId: string): Promise<JobRecord | undefined>;
  /** How many jobs are before a waiting one; undefined for one that does not wait. @throws {GatewayError} `service_unavailable` */
  positionOf(jobId: string, keyId: string): Promise<JobPosition | undefined>;
  /** Whether Redis answers. */
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

const AWAY_RETRY_AFTER_SECONDS = 5;
/** A Redis that was emptied does not say so. */
const LOOK_UP_MS = 5000;
/** How long a worker may take to say that it runs a job that Redis has lost. */
const ANSWER_WAIT_MS = 3000;

/**
 * The waiting side of the queues. Its requests fail promptly while Redis is away; cancellations are kept until it is back.
 *
 * @throws {Error} when Redis does not answer at the start
 */
export async function createJobQueue<Kinds extends JobKind>(
  options: JobQueueOptions<Kinds>,
): Promise<JobQueue<Kinds>> {
  const { redisUrl, kinds, maxWaiting, maxResultBytes, uploads, assets, settle, now } = options;
  const { lookUpMs = LOOK_UP_MS } = options;
  const files: JobFiles = { uploads, assets };
  const onError = oncePerOutage(options.onError);
  const prompt = await connectPromptly(redisUrl, onError);
  const patient = await connectPatiently(redisUrl, onError);
  const turns = createJobTurns(prompt, now);
  const patientTurns = createJobTurns(patient, now);
  const marks = createBegunMarks(uploads);
  const results = createKeptResults({ redis: prompt, assets, now });
  const channel = await openWorkerChannel({
    redisUrl,
    running: new Map(),
    redis: patient,
    answerWaitMs: ANSWER_WAIT_MS,
    onError,
  });
  const places = createQueuePlaces({ turns, maxWaiting, onError });
  const names = new Set(kinds.map((kind) => JOBS[kind].queue));
  const lines = new Map(
    await Promise.all(
      [...names].map(async (name) => {
        const queue = openQueue(name, prompt, onError);
        const patientQueue = openQueue(name, patient, onError);
        const listener = await listenToJobs({
          queue: patientQueue,
          redis: patient,
          files,
          lookUpMs,
          onError,
        });
        return [name, { queue, patientQueue, listener }] as const;
      }),
    ),
  );
  const lineOf = (kind: Kinds) => {
    const line = lines.get(JOBS[kind].queue);
    if (line === undefined) throw new Error(`this process does not enqueue ${kind}`);
    return line;
  };

  const reservePlace = async (kind: Kinds, taker: TurnTaker) => {
    const maxBytes = taker.share?.keptResultBytes ?? maxResultBytes;
    await unlessAway(results.ensureRoom(taker.keyId, maxBytes));
    return unlessAway(places.reserve(lineOf(kind).queue.name, taker));
  };

  return {
    reservePlace,
    enqueue: async <Kind extends Kinds>(kind: Kind, input: JobInput<Kind>, owner: JobOwner) => {
      const { keyId, requestId, metering, share } = owner;
      const neverStarted = (error: unknown) =>
        metering && settle?.(metering.subject, unstarted(metering, toJobError(error)));
      const refuse = (error: unknown): never => {
        neverStarted(error)?.catch(onError);
        throw error;
      };
      await using place = owner.place ?? (await reservePlace(kind, owner).catch(refuse));
      const spec = JOBS[kind];
      const { queue, patientQueue, listener } = lineOf(kind);
      const checked = spec.input.parse(input);
      const uploadIds = uploadsOf(kind, checked);
      const inputId = await uploads
        .share(uploadIds)
        .then(() => storeInput(files, checked))
        .catch(refuse);
      const envelope: JobEnvelope = {
        keyId,
        requestId,
        model: input.model,
        inputId,
        uploads: [inputId, ...uploadIds],
        marksBegin: true,
        ...(owner.isKept === true && { isKept: true }),
        ...(metering && { metering }),
        ...(share && { share }),
      };
      const id = metering?.subject.id ?? newJobId();
      const job = { id, kind, envelope, placeId: place.id, createdAtMs: now() };
      const store = (lost: JobToStore) => storeJob({ queue: patientQueue, turns: patientTurns }, lost);
      const waiter = listener.wait(id, {
        revive: (isHeard) => reviveJob({ job, isHeard, channel, marks, uploads, settle, store }),
        deleteFiles: () => uploads.delete(...envelope.uploads),
      });
      const cancel = () =>
        cancelJob({ id, queue: patientQueue, redis: patient, turns: patientTurns, files, settle });
      try {
        await unlessAway(storeJob({ queue, turns }, job));
        places.used(place.id);
        waiter.stored();
      } catch (error) {
        // A command that timed out may have been carried out all the same.
        cancel()
          .then((found) => (found ? undefined : Promise.all([neverStarted(error), uploads.delete(inputId)])))
          .catch(onError);
        if (error instanceof GatewayError) waiter.settle({ error });
        throw error;
      }
      const timer = setTimeout(() => {
        waiter.settle({ error: waitedTooLong() });
        cancel().catch(onError);
      }, spec.waitLimitMs);
      const settled = () => clearTimeout(timer);
      waiter.outcome.then(settled, settled);

      return {
        id,
        events: waiter.texts,
        delivered: (how) => void results.delivered(id, how).catch(onError),
        cancel: async () => void (await cancel()),
        result: async (signal) => {
          const leave = () => {
            cancel().catch(onError);
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
    positionOf: async (jobId, keyId) => {
      for (const name of lines.keys()) {
        const found = await unlessAway(turns.positionOf(name, jobId, keyId));
        if (found !== undefined) return found;
      }
      return undefined;
    },
    isReady: async () => (await prompt.ping()) === 'PONG',
    close: async () => {
      places.close();
      channel.close();
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
