import type { AssetStore } from '@gateway/assets/asset-store';
import { JobKind } from '@gateway/contracts/jobs';
import { startSweeping } from '@gateway/jobs/files/start-sweeping';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { jobLine } from '@gateway/jobs/worker/job-line';
import { type JobProcessors, processorsByQueue } from '@gateway/jobs/worker/job-processor';
import { createJobWorker } from '@gateway/jobs/worker/job-worker';
import type { LogFields } from '@gateway/service-kit/request/request-context';
import type { Started } from '@gateway/service-kit/start-service';
import { type ModelAccess, openModelAccess } from '../open-model-access.ts';
import type { JobWorkerSettings } from '../settings.ts';
import { jobTraces, writeJob } from '../tracing/job-spans.ts';
import { openAnnouncer } from '../webhooks/open-announcer.ts';
import { openWebhookWorker } from '../webhooks/open-webhook-worker.ts';
import { attemptFields } from './job-attempts.ts';
import { countFields, createJobMetrics } from './job-metrics.ts';
import { openFileStores } from './open-file-stores.ts';

interface WorkerOptions {
  /** What is done for each kind of job. */
  readonly processors: (access: WorkerAccess) => JobProcessors | Promise<JobProcessors>;
  /** The fields of its output in a job's log line, beside those of every job. */
  readonly outputFields: (output: unknown) => LogFields;
  /** Jobs of a kind that this process runs at a time. Absent: `WORKER_CONCURRENCY`. */
  readonly concurrency?: Readonly<Partial<Record<JobKind, number>>>;
}

interface WorkerAccess extends ModelAccess {
  readonly assets: AssetStore;
  readonly uploads: UploadStore;
}

/** Opens a worker for each queue of a service, and one for webhooks: they work as long as the process runs, and each job ends with one log line. */
export async function openJobWorker(
  started: Started<JobWorkerSettings>,
  { processors, outputFields, concurrency = {} }: WorkerOptions,
): Promise<void> {
  const { config, life, logger, metrics, tracing } = started;
  const access = await openModelAccess(started);
  const jobMetrics = createJobMetrics(metrics);
  const { uploads, assets } = await openFileStores(started);
  const onError = (error: unknown) => logger.warn({ err: error }, 'the queue');
  const announce = await openAnnouncer(started, { uploads, assets });
  const open = async (own: JobProcessors) => {
    const worker = life.own(
      await createJobWorker({
        redisUrl: config.REDIS_URL,
        processors: own,
        concurrency: concurrencyOf(own, concurrency) ?? config.WORKER_CONCURRENCY,
        maxBytesInFlight: config.WORKER_MAX_BYTES_IN_FLIGHT,
        uploads,
        assets,
        settle: (subject, result) => access.meter.resume(subject).settle(result),
        announce,
        openTrace: jobTraces(tracing),
        onFinished: (job) => {
          const { level, labels, fields } = jobLine(job);
          metrics.request(labels, job.durationMs, job.trace);
          jobMetrics.ended(job);
          const line = {
            ...{ ...fields, ...attemptFields(job), ...countFields(job.output) },
            ...outputFields(job.output),
          };
          logger[level](line);
          writeJob(job, line);
        },
        onError,
      }),
      (opened) => opened.close({ drainTimeoutMs: config.DRAIN_TIMEOUT_MS }),
    );
    return worker;
  };
  const workers = await Promise.all(
    processorsByQueue(await processors({ ...access, assets, uploads })).map(open),
  );
  await openWebhookWorker(started, access.redis);
  life.readiness.check('queue', async () => {
    const ready = await Promise.all(workers.map((worker) => worker.isReady()));
    return ready.every(Boolean);
  });
  const [worker] = workers;
  if (worker === undefined) throw new Error('a worker needs something to do');
  // They see the results of all queues.
  const { results } = worker;
  const onSwept = (counts: LogFields) => logger.info(counts, 'swept');
  life.own(startSweeping({ results, assets, uploads, now: Date.now, onSwept, onError }), (sweeping) =>
    sweeping.close(),
  );
}

const concurrencyOf = (
  processors: JobProcessors,
  concurrency: Readonly<Partial<Record<JobKind, number>>>,
): number | undefined =>
  JobKind.options
    .filter((kind) => processors[kind] !== undefined)
    .map((kind) => concurrency[kind])
    .find((own) => own !== undefined);
