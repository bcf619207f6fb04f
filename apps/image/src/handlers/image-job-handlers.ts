import type { ImageOutput } from '@gateway/contracts/jobs';
import { jobHandlers } from '@gateway/model-service/jobs/job-handlers';
import type { Request, RequestHandler, Response } from 'express';
import { expandEvent } from '../stream/job-events.ts';
import type { ImageService } from './image-service.ts';
import { writeImages } from './write-images.ts';

/** `/v1/images/jobs…` */
export function imageJobHandlers(service: ImageService): Readonly<Record<string, RequestHandler>> {
  const write = (output: ImageOutput, request: Request, response: Response) =>
    writeImages({ service, output, format: output.responseFormat ?? 'b64_json', request, response });
  return jobHandlers({
    area: 'images',
    queue: service.queue,
    now: service.now,
    writers: { 'image.generation': write, 'image.edit': write },
    expandEvent: expandEvent(service),
  });
}
