import { TextResponseOutput } from '@gateway/contracts/jobs';
import { openJobWorker } from '@gateway/model-service/jobs/open-job-worker';
import type { Started } from '@gateway/service-kit/start-service';
import type { TextWorkerSettings } from './config.ts';
import { runResponse } from './endpoints/background/run-response.ts';
import { openBackgroundResponses, openTextServices } from './open-services.ts';

/** Opens the worker that generates background responses. */
export const openTextWorker = (started: Started<TextWorkerSettings>): Promise<void> =>
  openJobWorker(started, {
    concurrency: started.config.TEXT_WORKER_CONCURRENCY,
    acts: async (access) => {
      const services = { ...(await openTextServices(started, access)), keepAliveMs: 0 };
      return {
        'text.response': runResponse({ services, responses: openBackgroundResponses(started, access) }),
      };
    },
    outputFields: (output) => TextResponseOutput.partial().catch({}).parse(output),
  });
