import type { AssetStore } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { JobShare } from '@gateway/contracts/identity';
import type { BatchCounts, JobKind } from '@gateway/contracts/jobs';
import { Queue } from 'bullmq';
import type { AnnounceEnd } from './announce-end.ts';
import { cancelJob, unstarted } from './cancel-job.ts';
import { JOBS, type JobInput, type JobOutput } from './catalog.ts';
import { beginDirectJob, cancelDirectJob, type DirectJob } from './direct-job.ts';
import { keepRecord } from './ended-jobs.ts';
import { createJobFinder } from './find-job.ts';
import { connectPatiently, connectPromptly } from './job-connections.ts';
import { type JobEnvelope, type JobRecord, uploadsOf } from './job-envelope.ts';
import { toJobError } from './job-failure.ts';
import { type JobFiles, storeFailure, storeInput } from './job-files.ts';
import { type JobHandle, openHandle } from './job-handle.ts';
import { batchCountsKey, newJobId, QUEUE_PREFIX } from './job-keys.ts';
import { listenToJobs } from './job-listener.ts';
import type { JobMetering, SettleJob } from './job-metering.ts';
import { createKnownJobs, type KnownJobs } from './known-jobs.ts';
import { oncePerOutage } from './once-per-outage.ts';
import { listJob } from './owned-jobs.ts';
import { unlessAway } from './queue-errors.ts';
import { createQueuePlaces, type QueuePlace } from './queue-places.ts';
import { createKeptResults, type Delivery } from './results/kept-results.ts';
import { type JobToStore, storeJob } from './store-job.ts';
import { createBegunMarks } from './takeover/begun-marks.ts';
import { reviveJob } from './takeover/revive-job.ts';
import { openWorkerChannel } from './takeover/worker-channel.ts';
import { createJobTurns, type TurnTaker } from './turns/job-turns.ts';
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
  /** Sees to the webhooks of detached jobs that never start. */
  readonly announce?: AnnounceEnd;
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
  /** Where it is to wait; one is reserved if left out. */
  readonly place?: QueuePlace;
  /**
   * It goes on without its caller, who comes back for its result. Where it fails without having been done, its files stay, and
   * it can be queued again.
   */
  readonly isDetached?: boolean;
  /** The claim of its idempotency key, as `claims` gave it. */
  readonly claim?: string;
  /** The id that it will have, where nothing is reserved for it. */
  readonly id?: string;
  /** The batch that it is a line of: it is not listed by itself. */
  readonly batchId?: string;
  /** Where its end is to be reported. */
  readonly webhook?: string;
}

export interface JobQueue<Kinds extends JobKind> extends KnownJobs<Kinds> {
  /** What it enqueues. */
  readonly kinds: readonly Kinds[];
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
  /** As `enqueue`, for a job that nobody waits for: its act keeps what its caller reads. Resolves to its id. */
  submit<Kind extends Kinds>(kind: Kind, input: JobInput<Kind>, owner: JobOwner): Promise<string>;
  /** Waits for a detached job that was made before, here or elsewhere. */
  attach<Kind extends Kinds>(kind: Kind, jobId: string): Promise<JobHandle<JobOutput<Kind>>>;
  /** Takes a queued job out of the line and stops a running one, in whatever process it runs. */
  cancel(record: JobRecord): Promise<void>;
  /** The same for one that was submitted, of which only the id is known. */
  cancelSubmitted(kind: Kinds, jobId: string): Promise<void>;
  /**
   * Makes a job that this process does by itself, outside the queues.
   *
   * @throws {GatewayError} `result_quota_exhausted`, `service_unavailable`
   */
  beginDirect<Kind extends Kinds>(
    kind: Kind,
    job: TurnTaker & { readonly id: string; readonly model: string },
  ): Promise<DirectJob<JobOutput<Kind>>>;
  /** Keeps that a job failed before it was stored. @throws {GatewayError} `service_unavailable` */
  keepRefused(
    job: { readonly id: string; readonly kind: Kinds; readonly keyId: string; readonly model: string },
    error: GatewayError,
  ): Promise<void>;
  /** Keeps how a batch's lines stand. @throws {GatewayError} `service_unavailable` */
  keepCounts(batchId: string, counts: BatchCounts): Promise<void>;
  /** Calls back whenever something may have changed about a job, until it is stopped. */
  watch(kind: Kinds, jobId: string, onChange: () => void): { stop(): void };
  /** Whether Redis answers. */
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

/** A day for its lines, and two in which a batch is remembered. */
const COUNTS_SECONDS = 4 * 86_400;
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
  const { redisUrl, kinds, maxWaiting, maxResultBytes, uploads, assets, settle, announce, now } = options;
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
  const names = [...new Set(kinds.map((kind) => JOBS[kind].queue))];
  const finderOn = (redis: typeof prompt) =>
    createJobFinder({
      redis,
      files,
      queues: names.map((name) => openQueue(name, redis, onError)),
      results: createKeptResults({ redis, assets, now }),
    });
  const findAny = finderOn(prompt);
  const lines = new Map(
    await Promise.all(
      names.map(async (name) => {
        const queue = openQueue(name, prompt, onError);
        const patientQueue = openQueue(name, patient, onError);
        const find = finderOn(patient);
        const listener = await listenToJobs({
          queue: patientQueue,
          redis: patient,
          files,
          find,
          lookUpMs,
          onError,
        });
        return [name, { queue, patientQueue, listener }] as const;
      }),
    ),
  );
  const known = createKnownJobs<Kinds>({
    redis: prompt,
    patient,
    find: findAny,
    turns,
    files,
    results,
    kinds,
    now,
    onError,
  });
  const lineOf = (kind: JobKind) => {
    const line = lines.get(JOBS[kind].queue);
    if (line === undefined) throw new Error(`this process knows no jobs of the kind ${kind}`);
    return line;
  };

  const ensureRoom = ({ keyId, share }: TurnTaker) =>
    unlessAway(results.ensureRoom(keyId, share?.keptResultBytes ?? maxResultBytes));
  const reservePlace = async (kind: Kinds, taker: TurnTaker) => {
    await ensureRoom(taker);
    return unlessAway(places.reserve(lineOf(kind).queue.name, taker));
  };
  const cancelIn = (kind: JobKind, id: string, isPrompt: boolean) => {
    const { queue, patientQueue } = lineOf(kind);
    return isPrompt
      ? cancelJob({ id, queue, redis: prompt, turns, files, settle, announce, onError })
      : cancelJob({
          id,
          queue: patientQueue,
          redis: patient,
          turns: patientTurns,
          files,
          settle,
          announce,
          onError,
        });
  };

  const neverStarted = async (metering: JobMetering | undefined, error: unknown) => {
    if (metering) await settle?.(metering.subject, unstarted(metering, toJobError(error)));
  };
  /** Accounts for a job that could not be stored. */
  const refusing =
    ({ metering }: JobOwner) =>
    (error: unknown): never => {
      neverStarted(metering, error).catch(onError);
      throw error;
    };
  const placeFor = async (kind: Kinds, owner: JobOwner) =>
    owner.place ?? (await reservePlace(kind, owner).catch(refusing(owner)));

  /** A job whose files are stored. */
  const prepare = async <Kind extends Kinds>(
    kind: Kind,
    input: JobInput<Kind>,
    owner: JobOwner,
    place: QueuePlace,
  ): Promise<JobToStore> => {
    const { keyId, requestId, metering, share, isDetached = false, claim, webhook, batchId } = owner;
    const checked = JOBS[kind].input.parse(input);
    const uploadIds = uploadsOf(kind, checked);
    const inputId = await uploads
      .share(uploadIds)
      .then(() => storeInput(files, checked))
      .catch(refusing(owner));
    const envelope: JobEnvelope = {
      keyId,
      requestId,
      model: input.model,
      inputId,
      uploads: [inputId, ...uploadIds],
      marksBegin: true,
      ...(isDetached && { isDetached }),
      ...(claim && { claim }),
      ...(webhook && { webhook }),
      ...(batchId && { batchId }),
      ...(metering && { metering }),
      ...(share && { share }),
    };
    const id = metering?.subject.id ?? owner.id ?? newJobId();
    return { id, kind, envelope, placeId: place.id, createdAtMs: now() };
  };

  /** Stores it, and what `beside` does at the same time. */
  const store = async (job: JobToStore, beside: () => Promise<unknown>): Promise<void> => {
    const { id, kind, envelope, placeId } = job;
    try {
      await unlessAway(Promise.all([beside(), storeJob({ queue: lineOf(kind).queue, turns }, job)]));
      places.used(placeId);
    } catch (error) {
      const removed = () =>
        Promise.all([neverStarted(envelope.metering, error), uploads.delete(envelope.inputId)]);
      // A command that timed out may have been carried out all the same.
      cancelIn(kind, id, false)
        .then((found) => (found ? undefined : removed()))
        .catch(onError);
      throw error;
    }
  };

  return {
    ...known,
    kinds,
    reservePlace,
    submit: async (kind, input, owner) => {
      await using place = await placeFor(kind, owner);
      const job = await prepare(kind, input, owner, place);
      await store(job, async () => undefined);
      return job.id;
    },
    enqueue: async <Kind extends Kinds>(kind: Kind, input: JobInput<Kind>, owner: JobOwner) => {
      await using place = await placeFor(kind, owner);
      const job = await prepare(kind, input, owner, place);
      const { id, envelope, createdAtMs } = job;
      const { patientQueue, listener } = lineOf(kind);
      const { keyId, isDetached = false } = envelope;
      const storeAgain = (lost: JobToStore) => storeJob({ queue: patientQueue, turns: patientTurns }, lost);
      const waiter = listener.wait(id, {
        keepsTexts: isDetached,
        lost: {
          revive: (isHeard) =>
            reviveJob({ job, isHeard, channel, marks, uploads, settle, store: storeAgain }),
          deleteFiles: () => uploads.delete(...envelope.uploads),
        },
      });
      try {
        await store(job, async () =>
          envelope.batchId ? undefined : listJob(prompt, { kind, keyId, jobId: id, createdAtMs }),
        );
        waiter.stored();
      } catch (error) {
        if (error instanceof GatewayError) waiter.settle({ error });
        throw error;
      }
      const cancel = () => cancelIn(kind, id, false);
      const delivered = (how: Delivery) => known.delivered(id, how);
      return openHandle({ id, waiter, spec: JOBS[kind], isDetached, cancel, delivered, onError });
    },
    attach: async (kind, jobId) => {
      const spec = JOBS[kind];
      const { listener } = lineOf(kind);
      const waiter = listener.wait(jobId, { keepsTexts: true });
      waiter.stored();
      const cancel = () => cancelIn(kind, jobId, false);
      try {
        await unlessAway(listener.lookUp(jobId));
      } catch (error) {
        waiter.settle({ error: toJobError(error) });
        throw error;
      }
      const delivered = (how: Delivery) => known.delivered(jobId, how);
      return openHandle({ id: jobId, waiter, spec, isDetached: true, cancel, delivered, onError });
    },
    cancel: async (record) => {
      const isQueued = await unlessAway(cancelIn(record.kind, record.id, true));
      if (!isQueued) await unlessAway(cancelDirectJob(prompt, record, now()));
    },
    cancelSubmitted: async (kind, jobId) => void (await cancelIn(kind, jobId, false)),
    beginDirect: async (kind, { id, model, ...taker }) => {
      const { listener } = lineOf(kind);
      await ensureRoom(taker);
      const job = { id, kind, model, keyId: taker.keyId };
      return unlessAway(beginDirectJob({ ...job, redis: prompt, files, results, listener, now, onError }));
    },
    keepRefused: async (job, error) => {
      const nowMs = now();
      const times = { createdAtMs: nowMs, startedAtMs: null, finishedAtMs: nowMs };
      const record: JobRecord = { ...job, ...times, status: 'failed', error: null };
      const reason = await storeFailure(files, job.id, error);
      await unlessAway(keepRecord(prompt, record, reason));
    },
    keepCounts: async (batchId, counts) => {
      const text = JSON.stringify(counts);
      await unlessAway(prompt.set(batchCountsKey(batchId), text, 'EX', COUNTS_SECONDS));
    },
    watch: (kind, jobId, onChange) => lineOf(kind).listener.watch(jobId, onChange),
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
