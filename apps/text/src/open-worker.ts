import { TextResponseOutput } from '@gateway/contracts/jobs';
import { JOBS } from '@gateway/jobs/catalog';
import { openJobWorker } from '@gateway/model-service/jobs/open-job-worker';
import { oncePerOutage } from '@gateway/redis/once-per-outage';
import { openRedis } from '@gateway/redis/open-redis';
import type { Started } from '@gateway/service-kit/start-service';
import type { TextWorkerSettings } from './config.ts';
import { runResponse } from './endpoints/background/run-response.ts';
import { openBatchProcessor } from './open-batches.ts';
import { openBackgroundResponses, openTextServices } from './open-services.ts';

/** Opens the worker that generates background responses, and does batches. */
export function openTextWorker(started: Started<TextWorkerSettings>): Promise<void> {
  const { config, life, logger } = started;
  const onError = oncePerOutage((error) => logger.warn({ err: error }, 'the events of background responses'));
  return openJobWorker(started, {
    concurrency: {
      'text.response': config.TEXT_WORKER_CONCURRENCY,
      'text.batch': JOBS['text.batch'].concurrency,
    },
    processors: async (access) => {
      const services = { ...(await openTextServices(started, access)), keepAliveMs: 0 };
      // What a provider has begun is not given up because Redis is away for a moment: the stream waits until it is back.
      const redis = life.own(await openRedis(config.REDIS_URL, 'worker', onError), (opened) =>
        opened.disconnect(),
      );
      const responses = openBackgroundResponses(started, { redis });
      const { uploads } = access;
      return {
        'text.response': runResponse({ services, responses, uploads }),
        'text.batch': await openBatchProcessor(started, { access, services, uploads }),
      };
    },
    outputFields: (output) => TextResponseOutput.partial().catch({}).parse(output),
  });
}
