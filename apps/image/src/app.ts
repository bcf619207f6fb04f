import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ImageOutput } from '@gateway/contracts/jobs';
import { batchHandler } from '@gateway/model-service/batch/batch-handler';
import { batchResults } from '@gateway/model-service/batch/batch-results';
import { jobHandlers } from '@gateway/model-service/jobs/job-handlers';
import type { Handler } from '@gateway/service-kit/request/handler';
import { createService, type Service, type ServiceAppOptions } from '@gateway/service-kit/service-app';
import { serveAssets } from './handlers/assets-handler.ts';
import { editsHandler } from './handlers/edits-handler.ts';
import { generationsHandler } from './handlers/generations-handler.ts';
import { imageBatches } from './handlers/image-batches.ts';
import type { ImageService } from './handlers/image-service.ts';
import { writeImages } from './handlers/write-images.ts';
import { expandEvent } from './stream/job-events.ts';

interface ImageAppOptions extends Omit<ServiceAppOptions, 'service' | 'handlers'>, ImageService {}

/** The image service: images are made by workers, awaited here, and handed out under signed URLs. */
export const createImageService = (options: ImageAppOptions): Service =>
  createService({
    ...options,
    service: 'image',
    handlers: {
      'POST /v1/images/generations': generationsHandler(options),
      'POST /v1/images/edits': editsHandler(options),
      'GET /v1/images/assets/{id}': serveAssets(options),
      ...imageJobHandlers(options),
    },
  });

/** `/v1/images/jobs…` */
function imageJobHandlers(service: ImageService): Readonly<Record<string, Handler>> {
  const write = (output: ImageOutput, request: IncomingMessage, response: ServerResponse) =>
    writeImages({ service, output, format: output.responseFormat ?? 'b64_json', request, response });
  const batches = imageBatches(service);
  const handlers = jobHandlers({
    area: 'images',
    queue: service.queue,
    now: service.now,
    writers: { 'image.generation': write, 'image.edit': write },
    batches: batchResults(batches),
    expandEvent: expandEvent(service),
  });
  return { ...handlers, 'POST /v1/images/jobs': batchHandler(batches) };
}
