import type { ImageOutput } from '@gateway/contracts/jobs';
import { batchHandler } from '@gateway/model-service/batch/batch-handler';
import { batchResults } from '@gateway/model-service/batch/batch-results';
import { jobHandlers } from '@gateway/model-service/jobs/job-handlers';
import type { Request, RequestHandler, Response } from 'express';
import { expandEvent } from '../stream/job-events.ts';
import { imageBatches } from './image-batches.ts';
import type { ImageService } from './image-service.ts';
import { writeImages } from './write-images.ts';

/** `/v1/images/jobs…` */
export function imageJobHandlers(service: ImageService): Readonly<Record<string, RequestHandler>> {
  const write = (output: ImageOutput, request: Request, response: Response) =>
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
