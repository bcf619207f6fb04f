import { openAssetStores } from '@gateway/assets/open-asset-stores';
import { openJobStores } from '@gateway/jobs/files/job-stores';
import { createJobQueue } from '@gateway/jobs/queue/job-queue';
import { createByteBudget } from '@gateway/jobs/worker/byte-budget';
import { jobLine } from '@gateway/jobs/worker/job-line';
import type { JobProcessors } from '@gateway/jobs/worker/job-processor';
import { createJobWorker, type JobWorker, type JobWorkerOptions } from '@gateway/jobs/worker/job-worker';
import type { ReadKeyIdentity } from '@gateway/metering/keys/key-identity';
import { createJobMetrics } from '@gateway/model-service/jobs/job-metrics';
import type { Metrics } from '@gateway/service-kit/metrics';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { createBackgroundResponses } from '../background/background-responses.ts';
import type { TextServices } from '../call/request/text-call.ts';
import type { Acceptance } from '../endpoints/background/accept-response.ts';
import { runResponse } from '../endpoints/background/run-response.ts';
import type { TextBatchRunner } from '../endpoints/batches/batch-service.ts';
import { lineReports } from '../endpoints/batches/finished-line.ts';
import { LinePlaces } from '../endpoints/batches/line-places.ts';
import { createResultMemory } from '../endpoints/batches/result-memory.ts';
import { runTextBatch } from '../endpoints/batches/run-batch.ts';
import { type BatchesAndFiles, batchStores } from '../open-batches.ts';

interface AcceptanceOptions {
  readonly redis: Redis;
  readonly services: TextServices;
  readonly dataDir: string;
  readonly logger: Logger;
  readonly maxWaiting: number;
  readonly readIdentity: ReadKeyIdentity;
  readonly metrics: Metrics;
}

export interface WorkerUnderTest {
  /** Default: as in production, longer than a test takes. */
  readonly takeover?: JobWorkerOptions['takeover'];
}

interface AcceptanceUnderTest extends Acceptance {
  readonly batches: BatchesAndFiles;
  startWorker(options?: WorkerUnderTest): Promise<JobWorker>;
  startBatchRunner(options?: WorkerUnderTest): Promise<JobWorker>;
  close(): Promise<void>;
}

const MEBIBYTES = 128 * 1024 * 1024;

/** The queue, the log and the feed of background responses, and workers of them, in a test's own process. */
export async function openAcceptance(options: AcceptanceOptions): Promise<AcceptanceUnderTest> {
  const { redis, services, dataDir, logger, maxWaiting, readIdentity, metrics } = options;
  const { host, port } = redis.options;
  const redisUrl = `redis://${host}:${port}`;
  const { uploads, assets } = await openJobStores({ dataDir });
  const onError = (error: unknown) => logger.warn({ err: error }, 'the queue');
  const settle: JobWorkerOptions['settle'] = (subject, result) =>
    services.meter.resume(subject).settle(result);
  const shared = { redisUrl, uploads, assets, settle, onError };
  const queue = await createJobQueue({
    ...shared,
    kinds: ['text.response', 'text.batch'],
    maxWaiting,
    maxResultBytes: Number.POSITIVE_INFINITY,
    now: Date.now,
  });
  const responses = createBackgroundResponses({ redis, ttlSeconds: 60, eventsTtlSeconds: 60 });
  const workers: JobWorker[] = [];
  const stores = await openAssetStores({ url: dataDir });
  const stopping = new AbortController();
  const batches: BatchesAndFiles = {
    services,
    queue,
    uploads,
    meter: services.meter,
    jobMetrics: createJobMetrics(metrics),
    readIdentity,
    ...(await batchStores(stores, redis)),
    maxLines: 1000,
    fileMaxBytes: 1_000_000,
    fileBytesPerKey: 1_500_000,
    publicUrl: undefined,
    stopping: stopping.signal,
    onError,
    memory: createResultMemory(),
    onProviderBatch: (report) => logger.info(report, 'batch at a provider'),
    onLine: lineReports({ logger, metrics }),
    now: services.now,
  };
  const runner: TextBatchRunner = {
    ...batches,
    places: new LinePlaces(16),
    lineMemory: { bodies: createByteBudget(MEBIBYTES), answers: createByteBudget(MEBIBYTES) },
    drainTimeoutMs: 0,
  };
  const start = async (processors: JobProcessors, { takeover }: WorkerUnderTest = {}) => {
    const worker = await createJobWorker({
      ...shared,
      processors,
      concurrency: 16,
      onFinished: (job) => logger.info(jobLine(job).fields, 'job'),
      ...(takeover && { takeover }),
    });
    workers.push(worker);
    return worker;
  };
  return {
    batches,
    startBatchRunner: (started) => start({ 'text.batch': runTextBatch(runner) }, started),
    queue,
    feed: queue.feed,
    responses,
    uploads,
    startWorker: (started) =>
      start({ 'text.response': runResponse({ services, responses, uploads }) }, started),
    close: async () => {
      stopping.abort(new Error('the test is over'));
      await Promise.all(workers.map((worker) => worker.close({ drainTimeoutMs: 0 })));
      await queue.close();
      stores.close();
    },
  };
}
