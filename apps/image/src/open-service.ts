import {
  batchProcessors,
  openBatchRunner,
  openIdentityReader,
} from '@gateway/model-service/batch/open-batch-runner';
import { createJobMetrics } from '@gateway/model-service/jobs/job-metrics';
import { openJobQueue } from '@gateway/model-service/jobs/open-job-queue';
import { namedFetching } from '@gateway/model-service/named-fetching';
import { openModelAccess } from '@gateway/model-service/open-model-access';
import { serviceAppOptions } from '@gateway/model-service/service-app-options';
import type { Service } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import { createImageService } from './app.ts';
import type { ImageSettings } from './config.ts';
import { imageBatches } from './handlers/image-batches.ts';
import type { ImageService } from './handlers/image-service.ts';

/** Opens the image service; the process's life closes what it takes. */
export async function openImageService(started: Started<ImageSettings>): Promise<Service> {
  const { config } = started;
  const access = await openModelAccess(started);
  const jobs = await openJobQueue(started, access, ['image.generation', 'image.edit', 'image.batch']);
  const service: ImageService = {
    ...access,
    ...jobs,
    publicUrl: config.PUBLIC_URL ?? `http://127.0.0.1:${config.PORT}`,
    secret: config.GATEWAY_SECRET,
    jsonMaxBytes: config.IMAGE_JSON_MAX_BYTES,
    editJsonMaxBytes: config.IMAGE_EDIT_JSON_MAX_BYTES,
    fetching: namedFetching(config, access.upstream),
    maxJsonDepth: config.MAX_JSON_DEPTH,
    keepAliveMs: config.IMAGE_KEEP_ALIVE_MS,
    jobMetrics: createJobMetrics(started.metrics),
    readIdentity: openIdentityReader(started, access),
    now: Date.now,
  };
  await openBatchRunner(started, service, batchProcessors(imageBatches(service)));
  return createImageService({ ...serviceAppOptions(started, access), ...service });
}
