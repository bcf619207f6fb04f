import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ImageOutput, ImageResponseFormat } from '@gateway/contracts/jobs';
import type { Delivery } from '@gateway/jobs/results/kept-results';
import { showJobAttempts } from '@gateway/model-service/jobs/job-attempts';
import { contextOf, type RequestContext } from '@gateway/service-kit/request/request-context';
import type { ImageService } from './image-service.ts';
import { renderReply } from './render-reply.ts';

interface WriteOptions {
  readonly service: Pick<ImageService, 'assets' | 'publicUrl' | 'secret' | 'now'>;
  readonly output: ImageOutput;
  readonly format: ImageResponseFormat;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Answers with what a job made; its URLs are signed now. Resolves when the caller has got all of it. */
export async function writeImages({
  service,
  output,
  format,
  request,
  response,
}: WriteOptions): Promise<Delivery> {
  const context = contextOf(request);
  const { channel, images, costMicroUsd } = output;
  Object.assign(context.line, { channel, images: images.length, costMicroUsd });
  showJobAttempts(output, context, response);
  const reply = Readable.from(renderReply(service, output, format), { objectMode: false });
  response.setHeaders(new Headers({ 'content-type': 'application/json', ...commonHeaders(context, output) }));
  await pipeline(reply, response);
  return format === 'url' ? 'by URL' : 'whole';
}

interface Answered {
  readonly channel: string;
  readonly dropped: readonly string[];
}

/** The headers of every reply with images. */
export const commonHeaders = (
  { requestId }: Pick<RequestContext, 'requestId'>,
  { channel, dropped }: Answered,
): Record<string, string> => ({
  'cache-control': 'no-store',
  'x-request-id': requestId,
  'request-id': requestId,
  'x-gateway-channel': channel,
  ...(dropped.length > 0 && { 'x-gateway-dropped': dropped.join(', ') }),
});
