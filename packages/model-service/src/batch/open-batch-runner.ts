import type { BatchKind } from '@gateway/contracts/jobs';
import { BatchOutput } from '@gateway/contracts/jobs';
import { JOBS } from '@gateway/jobs/catalog';
import { jobLine } from '@gateway/jobs/worker/job-line';
import type { JobProcessors } from '@gateway/jobs/worker/job-processor';
import { createJobWorker } from '@gateway/jobs/worker/job-worker';
import { reportOnce } from '@gateway/metering/broken-records';
import { createKeyIdentityReader, type ReadKeyIdentity } from '@gateway/metering/keys/key-identity';
import type { Started } from '@gateway/service-kit/start-service';
import type { ModelAccess } from '../open-model-access.ts';
import type { ModelSettings } from '../settings.ts';
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
export const batchProcessors = <Kind extends LineKind, Batch extends BatchKind>(
  service: BatchService<Kind, Batch>,
): JobProcessors => ({
  [service.kind]: {
    run: (input: Parameters<typeof runBatch>[1], context: Parameters<typeof runBatch>[2]) =>
      runBatch(service, input, context),
  },
});

/** Runs batches in a service's own process, until it ends; then another replica goes on with them. */
export async function openBatchRunner<Kind extends LineKind, Batch extends BatchKind>(
  started: Started<ModelSettings>,
  service: BatchService<Kind, Batch>,
): Promise<void> {
  const { config, life, logger, metrics } = started;
  const { uploads, assets, kind, jobMetrics } = service;
  life.own(
    await createJobWorker({
      redisUrl: config.REDIS_URL,
      processors: batchProcessors(service),
      concurrency: JOBS[kind].concurrency,
      uploads,
      assets,
      announce: await openAnnouncer(started, { uploads, assets }),
      onFinished: (job) => {
        const { level, labels, fields } = jobLine(job);
        const counts = BatchOutput.safeParse(job.output).data?.counts;
        metrics.request(labels, job.durationMs);
        jobMetrics.queued(job.kind, job.queuedMs);
        if (counts !== undefined) jobMetrics.batchLines(kind, counts);
        logger[level]({ ...fields, linesCompleted: counts?.completed, linesFailed: counts?.failed });
      },
      onError: (error) => logger.warn({ err: error }, 'batches'),
    }),
    // Its lines are done elsewhere: there is nothing to wait for.
    (opened) => opened.close({ drainTimeoutMs: 0 }),
  );
}
