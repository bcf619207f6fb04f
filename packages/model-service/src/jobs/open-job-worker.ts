import { type AssetStore, openAssetStore } from '@gateway/jobs/asset-store';
import { jobLine } from '@gateway/jobs/job-line';
import { createJobWorker, type JobWorkerOptions } from '@gateway/jobs/job-worker';
import { startSweeping } from '@gateway/jobs/start-sweeping';
import { openUploadStore, type UploadStore } from '@gateway/jobs/upload-store';
import type { LogFields } from '@gateway/service-kit/request-context';
import type { Started } from '@gateway/service-kit/start-service';
import { type ModelAccess, openModelAccess } from '../open-model-access.ts';
import type { JobWorkerSettings } from '../settings.ts';

interface WorkerOptions {
  /** What is done for each kind of job. */
  readonly acts: (access: WorkerAccess) => JobWorkerOptions['acts'] | Promise<JobWorkerOptions['acts']>;
  /** What a job's log line says of its output, beside what every job's does. */
  readonly outputFields: (output: unknown) => LogFields;
  /** Jobs that this process runs at a time. Absent: `WORKER_CONCURRENCY`. */
  readonly concurrency?: number;
}

interface WorkerAccess extends ModelAccess {
  readonly assets: AssetStore;
  readonly uploads: UploadStore;
}

/** Opens a worker of queued jobs: it works as long as the process lives, and each job ends with one log line. */
export async function openJobWorker(
  started: Started<JobWorkerSettings>,
  { acts, outputFields, concurrency }: WorkerOptions,
): Promise<void> {
  const { config, life, logger, metrics } = started;
  const access = await openModelAccess(started);
  const uploads = await openUploadStore(config.GATEWAY_DATA_DIR);
  const assets = await openAssetStore(config.GATEWAY_DATA_DIR);
  const onError = (error: unknown) => logger.warn({ err: error }, 'the queue');
  life.own(startSweeping({ assets, uploads, now: Date.now, onError }), (sweeping) => sweeping.close());
  const worker = life.own(
    await createJobWorker({
      redisUrl: config.REDIS_URL,
      acts: await acts({ ...access, assets, uploads }),
      concurrency: concurrency ?? config.WORKER_CONCURRENCY,
      uploads,
      assets,
      settle: (subject, result) => access.meter.resume(subject).settle(result),
      onFinished: (job) => {
        const { level, labels, fields } = jobLine(job);
        metrics.request(labels, job.durationMs);
        logger[level]({ ...fields, ...outputFields(job.output) });
      },
      onError,
    }),
    (opened) => opened.close({ drainTimeoutMs: config.DRAIN_TIMEOUT_MS }),
  );
  life.readiness.check('queue', () => worker.isReady());
}
