import { openJobStores } from '@gateway/jobs/files/job-stores';
import { createJobQueue } from '@gateway/jobs/queue/job-queue';
import { jobLine } from '@gateway/jobs/worker/job-line';
import { createJobWorker, type JobWorker, type JobWorkerOptions } from '@gateway/jobs/worker/job-worker';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { createBackgroundResponses } from '../background/background-responses.ts';
import type { TextServices } from '../call/request/text-call.ts';
import type { Acceptance } from '../endpoints/background/accept-response.ts';
import { runResponse } from '../endpoints/background/run-response.ts';

interface AcceptanceOptions {
  readonly redis: Redis;
  readonly services: TextServices;
  readonly dataDir: string;
  readonly logger: Logger;
  readonly maxWaiting: number;
}

export interface WorkerUnderTest {
  /** Default: as in production, longer than a test takes. */
  readonly takeover?: JobWorkerOptions['takeover'];
}

interface AcceptanceUnderTest extends Acceptance {
  startWorker(options?: WorkerUnderTest): Promise<JobWorker>;
  close(): Promise<void>;
}

/** The queue, the log and the feed of background responses, and workers of them, in a test's own process. */
export async function openAcceptance(options: AcceptanceOptions): Promise<AcceptanceUnderTest> {
  const { redis, services, dataDir, logger, maxWaiting } = options;
  const { host, port } = redis.options;
  const redisUrl = `redis://${host}:${port}`;
  const { uploads, assets } = await openJobStores({ dataDir });
  const onError = (error: unknown) => logger.warn({ err: error }, 'the queue');
  const settle: JobWorkerOptions['settle'] = (subject, result) =>
    services.meter.resume(subject).settle(result);
  const shared = { redisUrl, uploads, assets, settle, onError };
  const queue = await createJobQueue({
    ...shared,
    kinds: ['text.response'],
    maxWaiting,
    maxResultBytes: Number.POSITIVE_INFINITY,
    now: Date.now,
  });
  const responses = createBackgroundResponses({ redis, ttlSeconds: 60, eventsTtlSeconds: 60 });
  const workers: JobWorker[] = [];
  return {
    queue,
    feed: queue.feed,
    responses,
    uploads,
    startWorker: async ({ takeover } = {}) => {
      const worker = await createJobWorker({
        ...shared,
        processors: { 'text.response': runResponse({ services, responses, uploads }) },
        concurrency: 16,
        onFinished: (job) => logger.info(jobLine(job).fields, 'job'),
        ...(takeover && { takeover }),
      });
      workers.push(worker);
      return worker;
    },
    close: async () => {
      await Promise.all(workers.map((worker) => worker.close({ drainTimeoutMs: 0 })));
      await queue.close();
    },
  };
}
