import { GatewayError } from '@gateway/contracts/gateway-error';
import type { JobKind } from '@gateway/contracts/jobs';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import type { UsageDetail } from '@gateway/contracts/usage/usage-detail';
import type { ConsumedUsage } from '@gateway/contracts/usage/usage-record';
import { type Job, UnrecoverableError, WaitingError } from 'bullmq';
import type { Redis } from 'ioredis';
import { JOBS, type JobOutput, type KeptAsset } from '../catalog.ts';
import { type ClaimMarks, digestOf } from '../claims/claim-marks.ts';
import { isSuperseded } from '../claims/job-claims.ts';
import type { EventLog } from '../events/event-log.ts';
import { jobCancelled } from '../events/job-listener.ts';
import { createJobEmitter, EMITTED, hasEmitted } from '../events/job-log.ts';
import { type JobFiles, readInput, readOutput, storeFailure, storeOutput } from '../files/job-files.ts';
import { NewerJob, parseEnvelope, parseWhole, type QueuedJob } from '../job-envelope.ts';
import { encodeFailure, outcomeUnknown, outputLost, toJobError } from '../job-failure.ts';
import { withEarlier } from '../job-metering.ts';
import { keepEnd } from '../records/ended-jobs.ts';
import { cancelledKey } from '../redis/job-keys.ts';
import type { BegunMarks } from '../takeover/begun-marks.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { JobContext, JobProcessor } from './job-processor.ts';
import { mayBeRequeued, retryDelayMs } from './retry-policy.ts';
import { runStoppable, WorkerStopping } from './running-job.ts';

export interface ProcessOptions<Kind extends JobKind> {
  readonly kind: Kind;
  readonly processor: JobProcessor<Kind>;
  readonly job: Job;
  readonly jobId: string;
  /** The worker's claim on the job. */
  readonly token: string;
  readonly trace: RequestTrace | undefined;
  readonly redis: Redis;
  readonly log: EventLog;
  readonly files: JobFiles;
  readonly marks: BegunMarks;
  readonly claimMarks: ClaimMarks;
  /** Whether a worker runs a job that it has begun. */
  readonly isRunElsewhere: (jobId: string, begunBy: string) => Promise<boolean>;
  /** An attempt that was interrupted, if there was one. */
  readonly earlier: EarlierRun | undefined;
  /** The id with which this worker marks what it begins. */
  readonly workerId: string;
  /** Aborts the attempt; already registered with those who may do so. */
  readonly stopper: AbortController;
  /** See `JobContext`. */
  readonly closing: AbortSignal;
  /** Records what the job has stored, for as long as it is kept. Never rejects. */
  readonly keep: (assets: readonly KeptAsset[]) => Promise<void>;
  /** Bounds what the process holds in memory. */
  readonly memory: ByteBudget;
  /** Accounts for the job before its end is published, so that every end is accounted. */
  readonly settle: (run: JobRun, error: GatewayError | undefined) => Promise<void>;
  /** See `JobContext`. */
  readonly aside: JobContext['aside'];
  /** Queues the job's webhook after its end was kept and before it is published. */
  readonly announce: () => Promise<void>;
}

/** The result of an attempt. */
export interface JobRun {
  /** Whether the work was begun, in this attempt or in one that was interrupted. */
  hasRun: boolean;
  /** Null: certainly nothing; undefined: not known. */
  consumed: ConsumedUsage | null | undefined;
  /** What its usage record says beside that. */
  noted: UsageDetail;
  /** When the caller who waits was sent the first part of its answer, in Unix milliseconds. */
  heardAtMs?: number;
}

/** A job that was done: its output, and what Redis keeps of that. */
export interface DoneJob {
  readonly output: unknown;
  readonly returned: unknown;
}

/**
 * One attempt at a job, in BullMQ's terms: returns what it came to, throws `UnrecoverableError` when the job has failed for
 * good, another error when it is to be tried again, `WaitingError` when it has been put back into the line; `NewerJob` when it is not
 * for this worker.
 */
export async function processJob<Kind extends JobKind>(options: ProcessOptions<Kind>): Promise<DoneJob> {
  const { kind, job, jobId, token, stopper, redis, log, files, marks, earlier, keep, settle, announce } =
    options;
  const spec = JOBS[kind];
  const queued = parseEnvelope(kind, job.data);
  const emitter = createJobEmitter({ jobId, log, mark: () => job.updateProgress(EMITTED) });
  const emit = (...texts: string[]): Promise<void> => {
    if (!queued.isDetached) run.heardAtMs ??= Date.now();
    return emitter.emit(...texts).catch((cause: unknown) => {
      throw outputLost(spec.work, cause);
    });
  };
  const run: JobRun = { hasRun: earlier !== undefined, consumed: undefined, noted: {} };
  const goesBack = (thrown: unknown) =>
    (thrown instanceof WorkerStopping || stopper.signal.reason instanceof WorkerStopping) &&
    spec.work === 'free' &&
    !emitter.hasEmitted;
  const errorFor = (thrown: unknown) =>
    thrown instanceof WorkerStopping ? outcomeUnknown(thrown) : toJobError(thrown);
  const isTriedAgain = (error: GatewayError) =>
    !emitter.hasEmitted && !hasEmitted(job) && retryDelayMs(error, job.attemptsMade + 1, spec) !== undefined;
  try {
    const output = spec.output.parse(
      await attempt(options, queued, run, {
        emit,
        isTriedAgain: (thrown) => goesBack(thrown) || isTriedAgain(errorFor(thrown)),
      }),
    );
    const stored = 'inline' in queued.input ? undefined : await storeOutput(files, jobId, output);
    if (stored !== undefined) await keep([stored, ...spec.assetsOf(output)]);
    await emitter.flush();
    await settle(run, undefined);
    await keepEnd(redis, job, { error: undefined, reason: null });
    await announce();
    return { output, returned: stored?.id ?? output };
  } catch (thrown) {
    if (thrown instanceof NewerJob) throw thrown;
    if (goesBack(thrown)) {
      await carryConsumed(job, queued, run);
      await job.moveToWait(token);
      throw new WaitingError();
    }
    const error = errorFor(thrown);
    const again = isTriedAgain(error);
    if (again) await carryConsumed(job, queued, run);
    else await settle(run, error);
    // Another worker's mark records what that worker did. One that stays by mistake ends the next attempt as `outcome_unknown`.
    if (earlier === undefined && mayBeRequeued(error, spec) && 'inputId' in queued.input)
      await marks.clear(queued.input.inputId).catch(() => undefined);
    const reason = await storeFailure(files, jobId, error);
    // After a failure the idempotency key may be used again.
    if (!again && queued.claim && spec.work === 'paid')
      await options.claimMarks.clear(queued.claim, jobId).catch(() => undefined);
    if (!again) {
      await keepEnd(redis, job, { error, reason });
      await announce();
    }
    throw failureWith(error, again ? Error : UnrecoverableError, reason);
  }
}

/** What this attempt has used is charged with what the next one uses, in whatever process that is. Never rejects: without Redis there is no next one. */
async function carryConsumed(
  job: Job,
  { metering, consumedBefore }: QueuedJob,
  { consumed }: JobRun,
): Promise<void> {
  if (metering === undefined || !consumed) return;
  const all = consumedBefore === undefined ? consumed : withEarlier(consumed, consumedBefore);
  await job.updateData({ ...job.data, consumedBefore: all }).catch(() => undefined);
}

/** A failure as BullMQ keeps it. */
function failureWith(
  error: GatewayError,
  Failure: new (reason: string) => Error,
  reason = encodeFailure(error),
): Error {
  const failure = new Failure(reason);
  failure.cause = error;
  return failure;
}

/**
 * The output of another job under the same idempotency key, which Redis has forgotten; undefined if no job
 * has begun.
 *
 * @throws {GatewayError} `outcome_unknown` if another job has begun and has no result for this request
 */
async function madeBefore<Kind extends JobKind>(
  { kind, jobId, workerId, files, claimMarks, isRunElsewhere }: ProcessOptions<Kind>,
  claim: string,
  input: unknown,
): Promise<JobOutput<Kind> | undefined> {
  const mark = { jobId, workerId, inputDigest: digestOf(input) };
  const begun = await claimMarks.begin(claim, mark);
  if (begun.jobId === jobId) return undefined;
  const output = begun.inputDigest === mark.inputDigest ? await readOutput(files, begun.jobId) : undefined;
  if (output !== undefined) return JOBS[kind].output.parse(output);
  // Its caller learns it once; then the key may be used again.
  if (!(await isRunElsewhere(begun.jobId, begun.workerId))) await claimMarks.clear(claim);
  throw outcomeUnknown();
}

async function attempt<Kind extends JobKind>(
  options: ProcessOptions<Kind>,
  queued: QueuedJob,
  run: JobRun,
  given: Pick<JobContext, 'emit' | 'isTriedAgain'>,
): Promise<JobOutput<Kind>> {
  const { kind, processor, job, jobId, trace, redis, files, marks, workerId, memory, stopper, settle } =
    options;
  const spec = JOBS[kind];
  const { keyId, requestId } = queued;
  const account = (error?: GatewayError) => settle(run, error);
  const consumed: JobContext['consumed'] = (consumption) => {
    run.consumed = consumption;
  };
  const noted: JobContext['noted'] = (detail) => {
    run.noted = { ...run.noted, ...detail };
  };
  const stored = queued.input;
  const reading = 'inline' in stored ? stored.inline : readInput(files, stored.inputId);
  // A cancellation sets the mark and then notifies the workers; this one listens before it looks.
  const looking = redis.mget(cancelledKey(jobId), cancelledKey(queued.batchId ?? jobId));
  const [cancelled, read] = await Promise.allSettled([looking, reading]);
  const [ofJob, ofBatch] = settledValue(cancelled);
  if (ofJob !== null) throw jobCancelled();
  if (queued.claim && (await isSuperseded(redis, queued.claim, jobId))) throw superseded();
  const isLate = Date.now() - job.timestamp > spec.queueLimitMs;
  if (queued.isDetached && isLate) throw waitedTooLong();
  if (!run.hasRun && ofBatch !== null) throw jobCancelled();
  const inputRead = settledValue(read);
  const input = parseWhole(kind, job.data, { input: inputRead, isInline: 'inline' in stored });
  if (input instanceof NewerJob) {
    if (!isLate) throw input;
    throw run.hasRun && spec.work === 'paid' ? outcomeUnknown(input) : waitedTooLong();
  }
  if (run.hasRun && (spec.work === 'paid' || hasEmitted(job))) {
    const output = await processor.recover?.(input, { jobId, consumed });
    if (output !== undefined) return output;
    if (!(await processor.hasNotBegun?.(jobId))) throw outcomeUnknown();
    if ('inputId' in stored) await marks.clear(stored.inputId);
  }
  using _held = await memory.take(processor.bytesOf?.(input) ?? spec.bytesOf(input), stopper.signal);
  await using _files = await files.uploads.borrow(spec.uploadsOf(input));
  const made =
    queued.claim && spec.work === 'paid' ? await madeBefore(options, queued.claim, input) : undefined;
  if (made !== undefined) return made;
  if ('inputId' in stored) {
    const isFirst = await marks.begin(stored.inputId, workerId);
    // Two workers were given it, by a Redis that came back with an older state.
    if (!isFirst && spec.work === 'paid') throw outcomeUnknown();
  }
  const subject = queued.metering?.subject;
  const { contentLog } = queued;
  const about = { jobId, requestId, keyId, team: subject?.team ?? null, subject, trace, contentLog };
  const context = {
    ...{ ...about, ...given, attempt: job.attemptsStarted },
    ...{ consumed, noted, account, aside: options.aside, closing: options.closing },
  };
  return await runStoppable(
    (signal) => {
      run.hasRun = true;
      return processor.run(input, { ...context, signal });
    },
    { stopper, timeLimitMs: spec.timeLimitMs, graceMs: spec.cancelGraceMs },
  );
}

/** @throws what the promise was rejected with */
function settledValue<Value>(result: PromiseSettledResult<Value>): Value {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

/** An attempt that began and neither ended nor failed: its worker died, or fell silent for too long. */
export interface EarlierRun {
  /** Unknown for jobs whose begin is not marked. */
  readonly workerId: string | undefined;
}

/**
 * Such an attempt at a job that is being taken again; undefined where the work has certainly not begun.
 *
 * @throws {Error} as BullMQ takes it, where that cannot be read now: nothing has been done, and nothing is known
 */
export async function earlierRun(
  job: Job,
  { input, marksBegin }: Pick<QueuedJob, 'input' | 'marksBegin'>,
  marks: BegunMarks,
): Promise<EarlierRun | undefined> {
  const mark = 'inputId' in input ? marks.begunBy(input.inputId) : undefined;
  const workerId = await mark?.catch((thrown: unknown) => {
    throw failureWith(toJobError(thrown), Error);
  });
  if (workerId !== undefined) return { workerId };
  return wasInterrupted(job) && marksBegin === undefined ? { workerId } : undefined;
}

const wasInterrupted = (job: Job): boolean => job.attemptsStarted > job.attemptsMade + 1;

const superseded = (): GatewayError =>
  new GatewayError(
    'job_cancelled',
    'Another job was created for the same Idempotency-Key, so this one was not started.',
  );

export const waitedTooLong = (): GatewayError =>
  new GatewayError('service_timeout', 'No worker started the job within a day. Send the request again.');
