import type { AssetStore } from '@gateway/assets/asset-store';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { JobQueue } from '@gateway/jobs/queue/job-queue';
import { openBatchRunner, openIdentityReader } from '@gateway/model-service/batch/open-batch-runner';
import { createJobMetrics } from '@gateway/model-service/jobs/job-metrics';
import { openSharedStores } from '@gateway/model-service/jobs/open-file-stores';
import type { ModelAccess } from '@gateway/model-service/open-model-access';
import { oncePerOutage } from '@gateway/redis/once-per-outage';
import { openRedis } from '@gateway/redis/open-redis';
import type { Started } from '@gateway/service-kit/start-service';
import { createBatchRecords } from './batches/batch-records.ts';
import { createStoredFiles } from './batches/stored-files.ts';
import type { TextServices } from './call/request/text-call.ts';
import type { TextSettings } from './config.ts';
import type { TextBatchService, TextJob } from './endpoints/batches/batch-service.ts';
import { startBatchSweeping } from './endpoints/batches/open-batches.ts';
import { providerReports } from './endpoints/batches/provider/provider-reports.ts';
import { createResultMemory } from './endpoints/batches/result-memory.ts';
import { runTextBatch } from './endpoints/batches/run-batch.ts';
import type { FileService } from './endpoints/files/file-handlers.ts';

interface BatchAccess {
  readonly access: ModelAccess;
  readonly services: TextServices;
  readonly queue: JobQueue<TextJob | 'text.batch'>;
  readonly uploads: UploadStore;
  readonly assets: AssetStore;
}

/** What callers' files and batches are made of. */
export type BatchesAndFiles = TextBatchService &
  FileService & {
    /** Where callers reach the gateway; undefined: where their requests say. */
    readonly publicUrl: string | undefined;
  };

/** Opens what callers' files and batches take, and runs batches in this process; the process's life closes it. */
export async function openBatches(
  started: Started<TextSettings>,
  { access, services, queue, uploads, assets }: BatchAccess,
): Promise<BatchesAndFiles> {
  const { config, life, logger } = started;
  const store = await (await openSharedStores(started)).open('files');
  const onError = oncePerOutage((error) => logger.warn({ err: error }, 'files and batches'));
  const filesIn = (redis: ModelAccess['redis']) => createStoredFiles({ redis, store, now: Date.now });
  const service: BatchesAndFiles = {
    services,
    queue,
    uploads,
    meter: access.meter,
    jobMetrics: createJobMetrics(started.metrics),
    readIdentity: openIdentityReader(started, access),
    records: createBatchRecords(access.redis),
    files: filesIn(access.redis),
    maxJsonDepth: config.MAX_JSON_DEPTH,
    maxLines: config.TEXT_BATCH_MAX_LINES,
    fileMaxBytes: config.TEXT_FILE_MAX_BYTES,
    fileBytesPerKey: config.TEXT_FILE_BYTES_PER_KEY,
    publicUrl: config.PUBLIC_URL,
    stopping: life.stopping,
    onError,
    memory: createResultMemory(),
    onProviderBatch: providerReports(started),
    now: Date.now,
  };
  // Who runs a batch waits for a Redis that is away.
  const redis = life.own(await openRedis(config.REDIS_URL, 'worker', onError), (opened) =>
    opened.disconnect(),
  );
  const patient = { ...service, records: createBatchRecords(redis), files: filesIn(redis) };
  await openBatchRunner(
    started,
    { uploads, assets, jobMetrics: service.jobMetrics },
    { 'text.batch': runTextBatch(patient) },
  );
  life.own(startBatchSweeping(patient), (sweeping) => sweeping.close());
  return service;
}
