import type { AssetStore } from '@gateway/assets/asset-store';
import { BatchKind, type MediaBatchKind } from '@gateway/contracts/jobs';
import { JOBS } from '@gateway/jobs/catalog';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { jobLine } from '@gateway/jobs/worker/job-line';
import type { JobProcessors } from '@gateway/jobs/worker/job-processor';
import { createJobWorker } from '@gateway/jobs/worker/job-worker';
import { reportOnce } from '@gateway/metering/broken-records';
import { createKeyIdentityReader, type ReadKeyIdentity } from '@gateway/metering/keys/key-identity';
import type { Started } from '@gateway/service-kit/start-service';
import { countFields, type JobMetrics } from '../jobs/job-metrics.ts';
import type { ModelAccess } from '../open-model-access.ts';
import type { ModelSettings } from '../settings.ts';
import { jobTraces, writeJob } from '../tracing/job-spans.ts';
import { openAnnouncer } from '../webhooks/open-announcer.ts';
import type { BatchService, LineKind } from './batch-service.ts';
import { runBatch } from './run-batch.ts';

/** Reads what keys may do when lines of their batches are taken. */
export const openIdentityReader = (
  { logger, metrics }: Started<ModelSettings>,
  { redis }: Pick<ModelAccess, 'redis'>,
): ReadKeyIdentity =>
  createKeyIdentityReader({
    redis,
    now: Date.now,
    onBroken: reportOnce((broken) => {
      logger.warn(broken, 'skipping a stored record that cannot be read');
      metrics.brokenRecord(broken.kind);
    }),
  });

/** What a service does for the batches that it queues. */
export const batchProcessors = <Kind extends LineKind, Batch extends MediaBatchKind>(
  service: BatchService<Kind, Batch>,
): JobProcessors<MediaBatchKind> => ({
  [service.kind]: {
    run: (input: Parameters<typeof runBatch>[1], context: Parameters<typeof runBatch>[2]) =>
      runBatch(service, input, context),
  },
});

/** Where the batches of a service and their lines lie, and what counts them. */
interface RunnerStores {
  readonly uploads: UploadStore;
  readonly assets: AssetStore;
  readonly jobMetrics: JobMetrics;
}

/** Runs batches in a service's own process, until it ends; then another replica goes on with them. */
export async function openBatchRunner(
  started: Started<ModelSettings>,
  { uploads, assets, jobMetrics }: RunnerStores,
  processors: JobProcessors<BatchKind>,
): Promise<void> {
  const { config, life, logger, metrics, tracing } = started;
  const kinds = BatchKind.options.filter((kind) => processors[kind] !== undefined);
  life.own(
    await createJobWorker({
      redisUrl: config.REDIS_URL,
      processors,
      concurrency: Math.max(...kinds.map((kind) => JOBS[kind].concurrency)),
      uploads,
      assets,
      announce: await openAnnouncer(started, { uploads, assets }),
      openTrace: jobTraces(tracing),
      onFinished: (job) => {
        const { level, labels, fields } = jobLine(job);
        metrics.request(labels, job.durationMs, job.trace);
        jobMetrics.ended(job);
        logger[level]({ ...fields, ...countFields(job.output) });
        writeJob(job, fields);
      },
      onError: (error) => logger.warn({ err: error }, 'batches'),
    }),
    // Its lines are done elsewhere: there is nothing to wait for.
    (opened) => opened.close({ drainTimeoutMs: 0 }),
  );
}
