import { type AssetStore, openAssetStore } from '@gateway/jobs/asset-store';
import { actsByQueue, type JobActs } from '@gateway/jobs/job-act';
import { jobLine } from '@gateway/jobs/job-line';
import { createJobWorker } from '@gateway/jobs/job-worker';
import { startSweeping } from '@gateway/jobs/start-sweeping';
import { openUploadStore, type UploadStore } from '@gateway/jobs/upload-store';
import type { LogFields } from '@gateway/service-kit/request-context';
import type { Started } from '@gateway/service-kit/start-service';
import type { Upstream } from '@gateway/upstream/upstream';
import { openModelAccess } from '../open-model-access.ts';
import type { JobWorkerSettings } from '../settings.ts';
import { openAnnouncer } from '../webhooks/open-announcer.ts';
import { openWebhookWorker } from '../webhooks/open-webhook-worker.ts';

interface WorkerOptions {
  /** What is done for each kind of job. */
  readonly acts: (access: {
    readonly upstream: Upstream;
    readonly assets: AssetStore;
    readonly uploads: UploadStore;
  }) => JobActs;
  /** What a job's log line says of its output, beside what every job's does. */
  readonly outputFields: (output: unknown) => LogFields;
}

/** Opens a worker for each queue of a service, and one for webhooks: they work as long as the process lives, and each job ends with one log line. */
export async function openJobWorker(
  started: Started<JobWorkerSettings>,
  { acts, outputFields }: WorkerOptions,
): Promise<void> {
  const { config, life, logger, metrics } = started;
  const { upstream, redis, meter } = await openModelAccess(started);
  const uploads = await openUploadStore(config.GATEWAY_DATA_DIR);
  const assets = await openAssetStore(config.GATEWAY_DATA_DIR);
  const onError = (error: unknown) => logger.warn({ err: error }, 'the queue');
  life.own(startSweeping({ assets, uploads, now: Date.now, onError }), (sweeping) => sweeping.close());
  const announce = await openAnnouncer(started, { uploads, assets });
  const open = async (own: JobActs) => {
    const worker = life.own(
      await createJobWorker({
        redisUrl: config.REDIS_URL,
        acts: own,
        concurrency: config.WORKER_CONCURRENCY,
        maxBytesInFlight: config.WORKER_MAX_BYTES_IN_FLIGHT,
        uploads,
        assets,
        settle: (subject, result) => meter.resume(subject).settle(result),
        announce,
        onFinished: (job) => {
          const { level, labels, fields } = jobLine(job);
          metrics.request(labels, job.durationMs);
          metrics.queued(job.kind, job.queuedMs);
          logger[level]({ ...fields, ...outputFields(job.output) });
        },
        onError,
      }),
      (opened) => opened.close({ drainTimeoutMs: config.DRAIN_TIMEOUT_MS }),
    );
    return worker;
  };
  const workers = await Promise.all(actsByQueue(acts({ upstream, assets, uploads })).map(open));
  await openWebhookWorker(started, redis);
  life.readiness.check('queue', async () => {
    const ready = await Promise.all(workers.map((worker) => worker.isReady()));
    return ready.every(Boolean);
  });
}
