import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { JobKind } from '@gateway/contracts/jobs';
import type { Redis } from 'ioredis';
import { JOBS, type JobOutput, type JobSpec } from '../catalog.ts';
import { type JobListener, jobCancelled } from '../events/job-listener.ts';
import { createJobEmitter, endTexts } from '../events/job-texts.ts';
import { type JobFiles, storeFailure, storeOutput } from '../files/job-files.ts';
import type { JobRecord } from '../job-envelope.ts';
import { toJobError } from '../job-failure.ts';
import { keepRecord } from '../records/ended-jobs.ts';
import { listJob } from '../records/owned-jobs.ts';
import { cancelledKey, directKey, directLeaseKey, eventsKey } from '../redis/job-keys.ts';
import type { Delivery, KeptResults } from '../results/kept-results.ts';

/** How long a silent process counts as alive, and how often it reports. */
const LEASE_MS = 30_000;
const RENEWAL_MS = 10_000;
/** As many events as BullMQ itself keeps. */
const MAX_EVENTS = 10_000;

/** A job that its own service does while the caller holds the connection. It can be found, followed and cancelled as any other. */
export interface DirectJob<Output> {
  readonly id: string;
  /** Aborted when somebody cancels the job. */
  readonly signal: AbortSignal;
  /** Sends a text to those who follow the job. */
  emit(text: string): Promise<void>;
  /**
   * Keeps the output. Never rejects: if the output cannot be kept, the job has failed.
   *
   * @param delivery how the caller has got it already; null if not yet
   */
  complete(output: Output, delivery: Delivery | null): Promise<void>;
  fail(error: GatewayError): Promise<void>;
}

interface DirectOptions<Kind extends JobKind> {
  readonly kind: Kind;
  readonly id: string;
  readonly keyId: string;
  readonly model: string;
  readonly redis: Redis;
  readonly files: JobFiles;
  readonly results: Pick<KeptResults, 'keep' | 'delivered'>;
  readonly listener: JobListener;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

export async function beginDirectJob<Kind extends JobKind>(
  options: DirectOptions<Kind>,
): Promise<DirectJob<JobOutput<Kind>>> {
  const { kind, id, keyId, model, redis, files, results, listener, now, onError } = options;
  const createdAtMs = now();
  const open = { finishedAtMs: null, error: null };
  const record: JobRecord = {
    ...{ id, kind, keyId, model, createdAtMs, startedAtMs: createdAtMs, ...open },
    status: 'in_progress',
  };
  const publish = (event: string, ...fields: string[]) => publishEvent(redis, kind, id, [event, ...fields]);
  const renew = () => redis.set(directLeaseKey(id), '1', 'PX', LEASE_MS);
  const spec: JobSpec<Kind> = JOBS[kind];
  const { resultRetentionSeconds: retentionSeconds } = spec;
  await Promise.all([
    renew(),
    redis.set(directKey(id), JSON.stringify(record), 'EX', retentionSeconds),
    listJob(redis, { kind, keyId, jobId: id, createdAtMs }),
    publish('active', 'prev', 'waiting'),
  ]);
  const renewal = setInterval(() => void renew().catch(onError), RENEWAL_MS);
  const cancelling = new AbortController();
  const watching = listener.watch(id, () => {
    redis
      .exists(cancelledKey(id))
      .then((isCancelled) => isCancelled === 1 && cancelling.abort(jobCancelled()))
      .catch(onError);
  });
  const emitter = createJobEmitter({
    jobId: id,
    redis,
    keepsTexts: true,
    publish: (count) => publish('progress', 'data', JSON.stringify({ texts: count })),
  });

  const end = async (error: GatewayError | undefined, reason: string | null) => {
    clearInterval(renewal);
    watching.stop();
    await emitter.flush();
    const status =
      error === undefined ? 'completed' : error.code === 'job_cancelled' ? 'cancelled' : 'failed';
    const ended = { ...record, status, finishedAtMs: now() } as const;
    await keepRecord(redis, ended, reason);
    await redis.del(directKey(id), directLeaseKey(id));
    if (reason === null) await publish('completed', 'returnvalue', '""');
    else await publish('failed', 'failedReason', reason);
    await endTexts(redis, id, { isRead: true });
  };
  const fail = async (error: GatewayError) => {
    try {
      await end(error, await storeFailure(files, id, error));
    } catch (trouble) {
      onError(trouble);
    }
  };
  return {
    id,
    signal: cancelling.signal,
    emit: emitter.emit,
    complete: async (output, delivery) => {
      try {
        const assets = [await storeOutput(files, id, output), ...spec.assetsOf(output)];
        await results.keep({ jobId: id, keyId, assets, retentionSeconds });
        if (delivery !== null) await results.delivered(id, delivery);
        await end(undefined, null);
      } catch (error) {
        onError(error);
        await fail(toJobError(error));
      }
    },
    fail,
  };
}

/** Marks a direct job as cancelled and has the process that does it stop. */
export async function cancelDirectJob(redis: Redis, record: JobRecord, nowMs: number): Promise<void> {
  const { id, kind } = record;
  const cancelled = { ...record, status: 'cancelled', finishedAtMs: nowMs };
  await redis.set(cancelledKey(id), JSON.stringify(cancelled), 'EX', 2 * JOBS[kind].resultRetentionSeconds);
  await publishEvent(redis, kind, id, ['removed', 'prev', 'active']);
}

/** Publishes an event of a job that BullMQ does not know in the queue's own event stream. */
const publishEvent = (
  redis: Redis,
  kind: JobKind,
  jobId: string,
  event: readonly string[],
): Promise<unknown> =>
  redis.xadd(
    eventsKey(JOBS[kind].queue),
    'MAXLEN',
    '~',
    MAX_EVENTS,
    '*',
    ...['jobId', jobId, 'event', ...event],
  );
