import type { AssetStore } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { JobKind } from '@gateway/contracts/jobs';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import { soundUsage } from '@gateway/contracts/usage/sound-usage';
import type { UsageResult } from '@gateway/contracts/usage/usage-record';
import { oncePerOutage } from '@gateway/redis/once-per-outage';
import { openRedis } from '@gateway/redis/open-redis';
import { DelayedError, type Job, UnrecoverableError, Worker } from 'bullmq';
import { JOBS, type KeptAsset } from '../catalog.ts';
import { createClaimMarks } from '../claims/claim-marks.ts';
import { claimedUntilMs } from '../claims/job-claims.ts';
import { endJobLog, hasEmitted, openJobLog } from '../events/job-log.ts';
import type { JobFiles } from '../files/job-files.ts';
import type { UploadStore } from '../files/upload-store.ts';
import { knownJob, NewerJob, parseEnvelope } from '../job-envelope.ts';
import { encodeFailure } from '../job-failure.ts';
import { type SettleJob, settlementOf } from '../job-metering.ts';
import { keepEnd } from '../records/ended-jobs.ts';
import { closeInTime } from '../redis/close-in-time.ts';
import { endedKey, newWorkerId, QUEUE_PREFIX } from '../redis/job-keys.ts';
import { createKeptResults, type KeptResults } from '../results/kept-results.ts';
import { createBegunMarks } from '../takeover/begun-marks.ts';
import { watchWorkers } from '../takeover/watch-workers.ts';
import { openWorkerChannel } from '../takeover/worker-channel.ts';
import { createJobTurns, type JobTurns, takerOf } from '../turns/job-turns.ts';
import { type AnnounceEnd, announceEnd } from '../webhooks/announce-end.ts';
import { createByteBudget } from './byte-budget.ts';
import { errorOf, type FinishedJob, finishedJob } from './finished-job.ts';
import type { JobContext, JobProcessors } from './job-processor.ts';
import {
  type DoneJob,
  type EarlierRun,
  earlierRun,
  type JobRun,
  processJob,
  waitedTooLong,
} from './process-job.ts';
import { mayBeRequeued, retryDelayMs } from './retry-policy.ts';
import { CLOSE_GRACE_MS, WorkerStopping } from './running-job.ts';

export interface JobWorkerOptions {
  readonly redisUrl: string;
  /** What to do for each kind of one queue; all of the queue's kinds must be here. */
  readonly processors: JobProcessors;
  /** Jobs at a time in this process. */
  readonly concurrency: number;
  /**
   * How much memory the running jobs may need together, in bytes, as estimated. A job that alone needs more
   * runs alone. Absent: no bound.
   */
  readonly maxBytesInFlight?: number;
  /** The uploads of a job that has ended are deleted. */
  readonly uploads: UploadStore;
  /** Where outputs are kept. The queues' processes have the same. */
  readonly assets: Pick<AssetStore, 'put' | 'open' | 'delete'>;
  /** Accounts for the jobs that are metered. */
  readonly settle?: SettleJob;
  /** Queues the webhooks of detached jobs that have ended. */
  readonly announce?: AnnounceEnd;
  /** Continues the trace of what queued a job. Absent: no traces are exported. */
  readonly openTrace?: ((traceparent: string | undefined) => RequestTrace) | undefined;
  /** For the log line and the metrics. */
  readonly onFinished: (job: FinishedJob) => void;
  /** Called for lost connections and the like, which the worker recovers from itself. */
  readonly onError: (error: unknown) => void;
  readonly takeover?: Partial<TakeoverTimes>;
}

/** BullMQ's count of how often a job was taken. */
const STARTED_FIELD = 'ats';

/** When a worker's jobs are given to others. */
export interface TakeoverTimes {
  /** How long a silent worker's jobs stay its own, as long as it is connected to Redis. */
  readonly lockMs: number;
  /** How often somebody looks for jobs without a worker. */
  readonly checkMs: number;
  /** How long a worker may be disconnected from Redis. */
  readonly graceMs: number;
}

export interface JobWorker {
  /** Whether Redis answers and jobs are being taken. */
  isReady(): Promise<boolean>;
  /** The results of its jobs, and of others in the same Redis. */
  readonly results: Pick<KeptResults, 'sweep'>;
  /** How many jobs are being run. */
  readonly running: number;
  /**
   * Takes no more jobs and lets the running ones finish. Those left when the time is over are stopped: free work goes
   * back into its queue, paid work ends as `outcome_unknown`.
   */
  close(options: { drainTimeoutMs: number }): Promise<void>;
}

/** One attempt in this process. */
interface RunningJob {
  readonly stopper: AbortController;
  readonly outcome: Promise<DoneJob>;
}

/**
 * A worker that died is noticed within two checks and the grace, some eight seconds. One that is connected has half a minute, so that
 * neither a long computation nor a pause of Redis costs it its jobs.
 */
const TAKEOVER: TakeoverTimes = {
  lockMs: 30_000,
  checkMs: 2000,
  // A lost connection is tried again every two seconds at least.
  graceMs: 4000,
};

/**
 * Runs the jobs of one queue.
 *
 * @throws {Error} when Redis does not answer at the start
 */
export async function createJobWorker(options: JobWorkerOptions): Promise<JobWorker> {
  const { redisUrl, processors, concurrency, uploads, assets, onFinished, settle, announce } = options;
  const takeover = { ...TAKEOVER, ...options.takeover };
  const files: JobFiles = { uploads, assets };
  const onError = oncePerOutage(options.onError);
  const spec = specOfQueue(processors);
  const redis = await openRedis(redisUrl, 'worker', onError);
  const turns = createJobTurns(redis, Date.now);
  const marks = createBegunMarks(uploads);
  const claimMarks = createClaimMarks(uploads);
  const results = createKeptResults({ redis, assets, now: Date.now });
  const log = openJobLog(redis);
  const workerId = newWorkerId();
  const memory = createByteBudget(options.maxBytesInFlight ?? Number.POSITIVE_INFINITY);
  const running = new Map<string, RunningJob>();
  const closing = new AbortController();
  const accounted = new WeakMap<Job, UsageResult>();
  const outputs = new WeakMap<Job, unknown>();
  const traces = new WeakMap<Job, RequestTrace>();
  const answerWaitMs = takeover.lockMs / 10;
  const channel = await openWorkerChannel({ redisUrl, workerId, running, redis, answerWaitMs, onError });

  const account = async (job: Job, run: JobRun, error: GatewayError | undefined) => {
    const { metering, consumedBefore } = parseEnvelope(JobKind.parse(job.name), job.data);
    if (metering === undefined || accounted.has(job)) return;
    const settlement = settlementOf({
      ...run,
      metering,
      consumedBefore,
      error,
      nowMs: Date.now(),
      queuedMs: queuedMsOf(job),
      traceId: traces.get(job)?.shownId,
    });
    const { usage, wrong } = soundUsage(settlement, metering.estimate);
    if (wrong.length > 0)
      onError(new Error(`${job.id}: no amounts in ${wrong.join(', ')}; charged as estimated`));
    accounted.set(job, usage);
    await settle?.(metering.subject, usage);
  };

  const announceJob = (job: Job) => announceEnd({ announce, onError }, JobKind.parse(job.name), job);

  const run = (job: Job, jobId: string, token: string, earlier: EarlierRun | undefined): RunningJob => {
    const stopper = new AbortController();
    const settle = (state: JobRun, error: GatewayError | undefined) => account(job, state, error);
    const { keyId, claim, traceparent } = parseEnvelope(JobKind.parse(job.name), job.data);
    const trace = options.openTrace?.(traceparent);
    if (trace !== undefined) traces.set(job, trace);
    const retentionSeconds = spec.resultRetentionSeconds;
    const held = claim && { heldUntilMs: claimedUntilMs(job.timestamp) };
    // Without its entry a result stays until the assets are swept that nobody knows of.
    const keep = (kept: readonly KeptAsset[]) =>
      results.keep({ jobId, keyId, assets: kept, retentionSeconds, ...held }).catch(onError);
    const aside = stepsAside({ turns, job, jobId, onError });
    const shared = {
      ...{ job, jobId, token, earlier, workerId, stopper, trace, closing: closing.signal },
      redis,
      log,
      files,
      marks,
      claimMarks,
      isRunElsewhere: channel.isRunElsewhere,
      memory,
      aside,
      keep,
      settle,
      announce: () => announceJob(job),
    };
    const processAs = <Kind extends JobKind>(kind: Kind) => {
      const processor = processors[kind];
      if (processor === undefined) throw new Error(`this worker does not know how to do ${kind}`);
      return processJob({ ...shared, kind, processor });
    };
    return { stopper, outcome: processAs(JobKind.parse(job.name)) };
  };

  const process = async (job: Job, token = '') => {
    const jobId = job.id ?? '';
    // A worker that could not reach Redis for a while loses its claims, but not its work: the worker that is given such a job
    // leaves it to the one who is doing it.
    const here = running.get(jobId);
    if (here !== undefined) return returnedBy(job, here);
    const leave = async (): Promise<never> => {
      await job.moveToDelayed(Date.now() + takeover.checkMs, token);
      throw new DelayedError();
    };
    const leaveNewer = async (cause: NewerJob): Promise<never> => {
      onError(cause);
      // It was not begun: it still waits.
      await redis.hincrby(worker.toKey(jobId), STARTED_FIELD, -1);
      return leave();
    };
    const queued = knownJob(job);
    if (queued instanceof NewerJob) {
      if (Date.now() - job.timestamp <= spec.queueLimitMs) return leaveNewer(queued);
      onError(queued);
      throw new UnrecoverableError(encodeFailure(waitedTooLong()));
    }
    const earlier = await earlierRun(job, queued, marks);
    if (earlier !== undefined && (await channel.isRunElsewhere(jobId, earlier.workerId))) return leave();
    const begun = run(job, jobId, token, earlier);
    running.set(jobId, begun);
    try {
      return await returnedBy(job, begun);
    } catch (thrown) {
      if (!(thrown instanceof NewerJob)) throw thrown;
      return await leaveNewer(thrown);
    } finally {
      running.delete(jobId);
    }
  };

  const returnedBy = async (job: Job, { outcome }: RunningJob): Promise<unknown> => {
    const { output, returned } = await outcome;
    outputs.set(job, output);
    return returned;
  };

  const worker = new Worker(spec.queue, process, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    name: workerId,
    concurrency,
    lockDuration: takeover.lockMs,
    stalledInterval: takeover.checkMs,
    maxStalledCount: spec.takeovers,
    settings: {
      backoffStrategy: (attempt, _type, error) =>
        (error?.cause instanceof GatewayError ? retryDelayMs(error.cause, attempt, spec) : undefined) ?? -1,
    },
  });
  worker.on('error', onError);
  const end = (job: Job, thrown: Error | undefined) => {
    if (knownJob(job) instanceof NewerJob) return;
    const kind = JobKind.parse(job.name);
    const { uploads: uploadIds, isDetached, ...owner } = parseEnvelope(kind, job.data);
    const taker = takerOf(kind, owner);
    if (taker.share?.concurrentJobs !== undefined) turns.releaseParked(taker.keyId).catch(onError);
    const staysForAnother =
      isDetached === true && thrown !== undefined && mayBeRequeued(errorOf(thrown), JOBS[kind]);
    if (!staysForAnother) uploads.delete(...uploadIds).catch(onError);
    // BullMQ itself ends a job that was taken over too often; nobody has accounted for that.
    const accounting =
      thrown &&
      account(job, { hasRun: true, consumed: undefined, noted: {} }, errorOf(thrown)).catch(onError);
    const known = { output: outputs.get(job), usage: accounted.get(job), trace: traces.get(job) };
    const finished = finishedJob(job, thrown, known);
    const isRead = finished.outcome !== 'cancelled';
    if (thrown) keepUnkept(job, errorOf(thrown)).catch(onError);
    if (hasEmitted(job)) endJobLog(log, finished.jobId, { isRead }).catch(onError);
    Promise.resolve(accounting)
      .then(() => processors[finished.kind]?.ended?.(finished))
      .catch(onError);
    onFinished(finished);
  };
  /** BullMQ itself ends a job that was taken over too often: nobody has kept its end. */
  const keepUnkept = async (job: Job, error: GatewayError) => {
    if ((await redis.exists(endedKey(job.id ?? ''))) === 1) return;
    await keepEnd(redis, job, { error, reason: encodeFailure(error) });
    await announceJob(job);
  };
  worker.on('completed', (job) => end(job, undefined));
  worker.on('failed', (job, error) => {
    if (job?.finishedOn !== undefined) end(job, error);
  });
  await worker.waitUntilReady();
  const watching = watchWorkers({
    queue: spec.queue,
    redis,
    turns,
    checkMs: takeover.checkMs,
    graceMs: takeover.graceMs,
    moveUnclaimed: () => worker.startStalledCheckTimer(),
    onGone: (gone, jobs) =>
      onError(new Error(`the worker ${gone} is gone; other workers take over its ${jobs} jobs`)),
    onError,
  });

  return {
    isReady: async () => worker.isRunning() && (await redis.ping()) === 'PONG',
    results,
    get running() {
      return running.size;
    },
    close: async ({ drainTimeoutMs }) => {
      const deadline = setTimeout(() => {
        for (const { stopper } of running.values()) stopper.abort(new WorkerStopping());
      }, drainTimeoutMs);
      watching.close();
      closing.abort(new WorkerStopping());
      const isIdle = running.size === 0 && redis.status !== 'ready';
      const workMs = isIdle ? 0 : drainTimeoutMs + CLOSE_GRACE_MS;
      await closeInTime(worker.close(), workMs);
      clearTimeout(deadline);
      channel.close();
      redis.disconnect();
    },
  };
}

interface Stepping {
  readonly turns: JobTurns;
  readonly job: Job;
  readonly jobId: string;
  readonly onError: (error: unknown) => void;
}

/** Of one job. Where Redis is away it counts with those at work. */
const stepsAside =
  ({ turns, job, jobId, onError }: Stepping): JobContext['aside'] =>
  async (wait) => {
    const kind = JobKind.parse(job.name);
    const { queue, asideOfOneKey } = JOBS[kind];
    const { keyId } = takerOf(kind, parseEnvelope(kind, job.data));
    if (asideOfOneKey !== undefined) await turns.stepAside(queue, jobId, keyId, asideOfOneKey).catch(onError);
    try {
      return await wait();
    } finally {
      if (asideOfOneKey !== undefined) await turns.stepBack(queue, jobId, keyId).catch(onError);
    }
  };

/** What all kinds of a queue have in common. Throws if a kind is missing. */
function specOfQueue(processors: JobProcessors) {
  const kinds = JobKind.options.filter((kind) => processors[kind] !== undefined);
  const [first] = kinds;
  if (first === undefined) throw new Error('a worker needs something to do');
  const { queue } = JOBS[first];
  const ofQueue = JobKind.options.filter((kind) => JOBS[kind].queue === queue);
  if (kinds.length !== ofQueue.length || kinds.some((kind) => JOBS[kind].queue !== queue))
    throw new Error(`a worker of the queue '${queue}' must do ${ofQueue.join(', ')} and nothing else`);
  return JOBS[first];
}

const queuedMsOf = ({ timestamp, processedOn }: Job): number | undefined =>
  processedOn === undefined ? undefined : Math.max(0, processedOn - timestamp);
