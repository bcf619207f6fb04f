import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ImageOutput, ImageResponseFormat } from '@gateway/contracts/jobs';
import type { JobHandle } from '@gateway/jobs/job-queue';
import { endedRequest } from '@gateway/service-kit/ended-request';
import { contextOf } from '@gateway/service-kit/request-context';
import type { Request, Response } from 'express';
import { commonHeaders } from './common-headers.ts';
import type { ImageService } from './image-service.ts';
import { renderReply } from './render-reply.ts';

interface AnswerOptions {
  readonly service: ImageService;
  readonly job: JobHandle<ImageOutput>;
  readonly format: ImageResponseFormat;
  readonly request: Request;
  readonly response: Response;
}

/** Waits for a job and answers with what it made. A caller who leaves cancels it. @throws {GatewayError} the job's failure */
export async function answerJob({ service, job, format, request, response }: AnswerOptions): Promise<void> {
  const context = contextOf(request);
  context.mayBePaid = true;
  context.line.jobId = job.id;
  response.setHeader('x-gateway-job', job.id);
  const output = await job.result(context.signal).catch((error: unknown) => {
    throw endedRequest(context) ?? error;
  });
  const { channel, upstreamAttempts, images, costMicroUsd } = output;
  Object.assign(context.line, { channel, images: images.length, attempts: upstreamAttempts, costMicroUsd });
  const reply = Readable.from(renderReply(service, output, format), { objectMode: false });
  response.setHeaders(new Headers({ 'content-type': 'application/json', ...commonHeaders(context, output) }));
  await pipeline(reply, response);
  job.delivered(format === 'url' ? 'by URL' : 'whole');
}
