import type { AssetStores } from '@gateway/assets/asset-store';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { JobQueue } from '@gateway/jobs/queue/job-queue';
import { keepCounts } from '@gateway/jobs/records/batch-counts';
import { keepLineStates } from '@gateway/jobs/records/line-states';
import { createByteBudget } from '@gateway/jobs/worker/byte-budget';
import type { JobProcessor } from '@gateway/jobs/worker/job-processor';
import { openIdentityReader } from '@gateway/model-service/batch/open-batch-runner';
import { createJobMetrics } from '@gateway/model-service/jobs/job-metrics';
import { openSharedStores } from '@gateway/model-service/jobs/open-file-stores';
import type { ModelAccess } from '@gateway/model-service/open-model-access';
import { oncePerOutage } from '@gateway/redis/once-per-outage';
import { openRedis } from '@gateway/redis/open-redis';
import type { Started } from '@gateway/service-kit/start-service';
import { away } from './batches/away.ts';
import { createBatchRecords } from './batches/batch-records.ts';
import { createStoredFiles } from './batches/stored-files.ts';
import type { TextServices } from './call/request/text-call.ts';
import type { SharedSettings, TextSettings, TextWorkerSettings } from './config.ts';
import type { TextBatches, TextBatchRunner, TextBatchService } from './endpoints/batches/batch-service.ts';
import { lineReports } from './endpoints/batches/finished-line.ts';
import { LinePlaces } from './endpoints/batches/line-places.ts';
import { startBatchSweeping } from './endpoints/batches/open-batches.ts';
import { providerReports } from './endpoints/batches/provider/provider-reports.ts';
import { createResultMemory } from './endpoints/batches/result-memory.ts';
import { runTextBatch } from './endpoints/batches/run-batch.ts';
import type { FileService } from './endpoints/files/file-handlers.ts';

interface BatchAccess {
  readonly access: ModelAccess;
  readonly services: TextServices;
  readonly uploads: UploadStore;
}

type Redis = ModelAccess['redis'];

/** What callers' files and batches are made of. */
export type BatchesAndFiles = TextBatchService &
  FileService & {
    /** Where callers reach the gateway; undefined: where their requests say. */
    readonly publicUrl: string | undefined;
  };

/** The stores that files and batches lie in, over one connection. */
export async function batchStores(stores: AssetStores, redis: Redis) {
  const [files, journals] = [await stores.open('files'), await stores.open('batches')];
  return {
    records: createBatchRecords(redis),
    files: createStoredFiles({ redis, store: files, now: Date.now }),
    journals,
    progress: {
      keepCounts: (id, counts) => away(keepCounts(redis, id, counts)),
      keepLines: (id, states) => away(keepLineStates(redis, id, states)),
    },
  } satisfies Partial<TextBatches>;
}

/** What the service and its worker have in common. Whoever runs or ends a batch waits for a Redis that is away. */
async function openBatches(
  started: Started<SharedSettings>,
  { access, services, uploads }: BatchAccess,
): Promise<{ readonly patient: TextBatches; readonly stores: AssetStores }> {
  const { config, life, logger } = started;
  const onError = oncePerOutage((error) => logger.warn({ err: error }, 'files and batches'));
  const redis = life.own(await openRedis(config.REDIS_URL, 'worker', onError), (opened) =>
    opened.disconnect(),
  );
  const stores = await openSharedStores(started);
  const patient: TextBatches = {
    ...(await batchStores(stores, redis)),
    services,
    uploads,
    meter: access.meter,
    readIdentity: openIdentityReader(started, access),
    memory: createResultMemory(),
    onProviderBatch: providerReports(started),
    onLine: lineReports(started),
    stopping: life.stopping,
    onError,
    now: Date.now,
  };
  return { patient, stores };
}

/** Opens what the service does for files and batches; the process's life closes it. */
export async function openBatchService(
  started: Started<TextSettings>,
  { queue, ...opened }: BatchAccess & { readonly queue: JobQueue<'text.response' | 'text.batch'> },
): Promise<BatchesAndFiles> {
  const { config, life } = started;
  const { patient, stores } = await openBatches(started, opened);
  const more = {
    queue,
    jobMetrics: createJobMetrics(started.metrics),
    maxLines: config.TEXT_BATCH_MAX_LINES,
    fileMaxBytes: config.TEXT_FILE_MAX_BYTES,
    fileBytesPerKey: config.TEXT_FILE_BYTES_PER_KEY,
    publicUrl: config.PUBLIC_URL,
  };
  life.own(startBatchSweeping({ ...patient, ...more }), (sweeping) => sweeping.close());
  return { ...patient, ...(await batchStores(stores, opened.access.redis)), ...more };
}

/** Who has an answer's share waits for no body's, so that neither waits for the other. */
const lineMemory = (maxBytes: number): TextBatchRunner['lineMemory'] => ({
  bodies: createByteBudget(maxBytes / 2),
  answers: createByteBudget(maxBytes / 2),
});

/** Opens what does batches in a worker; the process's life closes it. */
export async function openBatchProcessor(
  started: Started<TextWorkerSettings>,
  opened: BatchAccess,
): Promise<JobProcessor<'text.batch'>> {
  const { config } = started;
  const { patient } = await openBatches(started, opened);
  return runTextBatch({
    ...patient,
    maxLines: config.TEXT_BATCH_MAX_LINES,
    places: new LinePlaces(config.TEXT_BATCH_CONCURRENCY),
    lineMemory: lineMemory(config.WORKER_MAX_BYTES_IN_FLIGHT),
    drainTimeoutMs: config.DRAIN_TIMEOUT_MS,
  });
}
