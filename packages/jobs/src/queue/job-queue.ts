import type { AssetStore } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { BatchCounts, JobKind } from '@gateway/contracts/jobs';
import { oncePerOutage } from '@gateway/redis/once-per-outage';
import { openRedis } from '@gateway/redis/open-redis';
import { JOBS, type JobInput, type JobOutput } from '../catalog.ts';
import { createEventFeed, type EventFeed, type Watching } from '../events/event-feed.ts';
import { jobCancelled } from '../events/job-listener.ts';
import type { JobFiles } from '../files/job-files.ts';
import type { UploadStore } from '../files/upload-store.ts';
import type { JobRecord } from '../job-envelope.ts';
import { toJobError } from '../job-failure.ts';
import type { SettleJob } from '../job-metering.ts';
import { keepCounts, readCounts } from '../records/batch-counts.ts';
import { listJob } from '../records/owned-jobs.ts';
import { textsKey } from '../redis/job-keys.ts';
import { createKeptResults, type Delivery } from '../results/kept-results.ts';
import { createBegunMarks } from '../takeover/begun-marks.ts';
import { reviveJob } from '../takeover/revive-job.ts';
import { openWorkerChannel } from '../takeover/worker-channel.ts';
import { createJobTurns, type TurnTaker, takerOf } from '../turns/job-turns.ts';
import type { AnnounceEnd } from '../webhooks/announce-end.ts';
import { cancelJob } from './cancel-job.ts';
import { type JobHandle, openHandle } from './job-handle.ts';
import type { JobOwner } from './job-owner.ts';
import { createEndKeeper, type EndKeeper } from './keep-ends.ts';
import { createKnownJobs, type KnownJobs } from './known-jobs.ts';
import { openFinder, openLines } from './open-lines.ts';
import { unlessAway } from './queue-errors.ts';
import { createQueueSlots, type QueueSlot } from './queue-slots.ts';
import { type JobToStore, storeJob } from './store-job.ts';
import { createJobStoring } from './store-new-job.ts';

export interface JobQueueOptions<Kind extends JobKind> {
  readonly redisUrl: string;
  /** What this process enqueues. */
  readonly kinds: readonly Kind[];
  /** What stands before a job's path for callers, such as `/ai`; absent: nothing. */
  readonly publicPath?: string;
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
  /** Queues the webhooks of detached jobs that never start. */
  readonly announce?: AnnounceEnd;
  readonly now: () => number;
  /** How often jobs with waiters are looked up, in case an event was lost. */
  readonly lookUpMs?: number;
  /** Called for lost connections and the like, which the queue recovers from itself. */
  readonly onError: (error: unknown) => void;
}

export interface JobQueue<Kinds extends JobKind> extends KnownJobs<Kinds>, EndKeeper<Kinds> {
  /** What it enqueues. */
  readonly kinds: readonly Kinds[];
  /** What stands before a job's path for callers. */
  readonly publicPath: string;
  /**
   * Keeps a slot for a job, before its files are read. Refuses when the queue is full, or what is free is kept for other keys.
   *
   * @throws {GatewayError} `queue_full`, `result_quota_exhausted`, `service_unavailable`
   */
  reserveSlot(kind: Kinds, taker: TurnTaker): Promise<QueueSlot>;
  /** @throws {GatewayError} as `reserveSlot`, before anything is stored; `storage_full` */
  enqueue<Kind extends Kinds>(
    kind: Kind,
    input: JobInput<Kind>,
    owner: JobOwner,
  ): Promise<JobHandle<JobOutput<Kind>>>;
  /** As `enqueue`, for a job that nobody waits for: its processor keeps what its caller reads. Resolves to its id. */
  submit<Kind extends Kinds>(kind: Kind, input: JobInput<Kind>, owner: JobOwner): Promise<string>;
  /** Waits for a detached job that was made before, here or elsewhere. */
  attach<Kind extends Kinds>(kind: Kind, jobId: string): Promise<JobHandle<JobOutput<Kind>>>;
  /**
   * Takes a queued job out of the line and stops a running one, in whatever process it runs. Resolves when it has given back what
   * it held, or has not stopped in time.
   */
  cancel(record: JobRecord): Promise<void>;
  /** The same for a job that ends with what it has begun, which nobody waits for here. */
  cancelLater(record: JobRecord): Promise<void>;
  /**
   * The same for a submitted job, of which only the id is known. Waits for a Redis that is away. @throws
   * {GatewayError} `service_unavailable`
   */
  cancelSubmitted(kind: Kinds, jobId: string): Promise<void>;
  /** Keeps the counts of a batch's lines by status. @throws {GatewayError} `service_unavailable` */
  keepCounts(batchId: string, counts: BatchCounts): Promise<void>;
  /** Null for a batch of which none were kept. @throws {GatewayError} `service_unavailable` */
  countsOf(batchId: string): Promise<BatchCounts | null>;
  /** Calls back whenever something may have changed about a job, or it has emitted something, until it is stopped. */
  watch(kind: Kinds, jobId: string, onChange: () => void): Watching;
  /** Calls back whenever a job may have ended, until it is stopped. It asks nothing of Redis. */
  watchEnd(kind: Kinds, jobId: string, onEnd: () => void): Pick<Watching, 'stop'>;
  /** Tells this process of changes in logs. */
  readonly feed: EventFeed;
  /** Whether Redis answers. */
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

/** A Redis that was emptied reports nothing. */
const LOOK_UP_MS = 5000;
/** How long a worker may take to claim a job that Redis has lost. */
const ANSWER_WAIT_MS = 3000;
/** How long a caller who cancels waits for a job that is being stopped: its worker may have died. */
const STOP_WAIT_MS = 3000;

/**
 * The waiting side of the queues. Its requests fail promptly while Redis is away; cancellations are kept until it is back.
 *
 * @throws {Error} when Redis does not answer at the start
 */
export async function createJobQueue<Kinds extends JobKind>(
  options: JobQueueOptions<Kinds>,
): Promise<JobQueue<Kinds>> {
  const {
    redisUrl,
    kinds,
    publicPath = '',
    maxWaiting,
    maxResultBytes,
    uploads,
    assets,
    settle,
    announce,
    now,
  } = options;
  const { lookUpMs = LOOK_UP_MS } = options;
  const files: JobFiles = { uploads, assets };
  const onError = oncePerOutage(options.onError);
  const prompt = await openRedis(redisUrl, 'queue', onError);
  const patient = await openRedis(redisUrl, 'worker', onError);
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
  const slots = createQueueSlots({ turns, maxWaiting, onError });
  const open = { kinds, files, now, lookUpMs, onError };
  const findAny = openFinder({ ...open, redis: prompt });
  const feed = createEventFeed({ redisUrl, onError });
  const lines = await openLines({ ...open, prompt, patient, feed });
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
  const reserveSlot = async (kind: Kinds, taker: TurnTaker) => {
    await ensureRoom(taker);
    return unlessAway(slots.reserve(lineOf(kind).queue.name, takerOf(kind, taker)));
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

  /** Cancels a job, and waits until a running one has ended: its caller may send the next one at once. */
  const cancelWhole = async (kind: JobKind, id: string, isPrompt: boolean) => {
    const waiter = lineOf(kind).listener.wait(id, { keepsTexts: true });
    const leave = () => waiter.settle({ error: jobCancelled() });
    const late = setTimeout(leave, STOP_WAIT_MS);
    try {
      const cancelled = await unlessAway(cancelIn(kind, id, isPrompt));
      if (cancelled === 'stopping') await waiter.outcome.catch(() => undefined);
      return cancelled;
    } finally {
      clearTimeout(late);
      leave();
    }
  };

  const storing = createJobStoring({
    queueOf: (kind) => lineOf(kind).queue,
    turns,
    slots,
    files,
    settle,
    cancel: (kind, id) => cancelIn(kind, id, false),
    now,
    onError,
  });
  const slotFor = async (kind: Kinds, owner: JobOwner) =>
    owner.slot ?? (await reserveSlot(kind, owner).catch(storing.refusing(owner)));

  return {
    ...known,
    kinds,
    publicPath,
    reserveSlot,
    submit: async (kind, input, owner) => {
      await using slot = await slotFor(kind, owner);
      const job = await storing.prepare(kind, input, owner, slot);
      await storing.store(job, async () => undefined);
      return job.id;
    },
    enqueue: async <Kind extends Kinds>(kind: Kind, input: JobInput<Kind>, owner: JobOwner) => {
      await using slot = await slotFor(kind, owner);
      const job = await storing.prepare(kind, input, owner, slot);
      const { id, envelope, createdAtMs } = job;
      const { patientQueue, listener } = lineOf(kind);
      const { keyId, isDetached = false } = envelope;
      const storeAgain = (lost: JobToStore) => storeJob({ queue: patientQueue, turns: patientTurns }, lost);
      const waiter = listener.wait(id, {
        keepsTexts: isDetached || JOBS[kind].keepsTexts,
        lost: {
          revive: (isHeard) =>
            reviveJob({ job, isHeard, channel, marks, uploads, settle, store: storeAgain }),
          deleteFiles: () => uploads.delete(...envelope.uploads),
        },
      });
      try {
        await storing.store(job, async () =>
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
    cancel: async ({ kind, id }) => void (await cancelWhole(kind, id, true)),
    cancelLater: async ({ kind, id }) => void (await unlessAway(cancelIn(kind, id, true))),
    cancelSubmitted: async (kind, jobId) => void (await cancelWhole(kind, jobId, false)),
    ...createEndKeeper({ redis: prompt, files, now }),
    keepCounts: (batchId, counts) => unlessAway(keepCounts(prompt, batchId, counts)),
    countsOf: async (batchId) => {
      const [counts = null] = await unlessAway(readCounts(prompt, [batchId]));
      return counts;
    },
    feed,
    watchEnd: (kind, jobId, onEnd) => lineOf(kind).listener.watchEnd(jobId, onEnd),
    watch: (kind, jobId, onChange) => {
      const status = lineOf(kind).listener.watch(jobId, onChange);
      const texts = feed.watch(textsKey(jobId), onChange);
      return {
        isHeard: texts.isHeard,
        stop: () => {
          status.stop();
          texts.stop();
        },
      };
    },
    isReady: async () => (await prompt.ping()) === 'PONG',
    close: async () => {
      slots.close();
      channel.close();
      feed.close();
      for (const { listener } of lines.values()) await listener.close();
      prompt.disconnect();
      patient.disconnect();
    },
  };
}
