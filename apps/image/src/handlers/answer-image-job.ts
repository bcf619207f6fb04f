import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ImageOutput, ImageResponseFormat } from '@gateway/contracts/jobs';
import { HttpCaller } from '@gateway/model-service/caller';
import { answerJob, showJob } from '@gateway/model-service/jobs/answer-job';
import { showJobAttempts } from '@gateway/model-service/jobs/job-attempts';
import { isHead, StreamHead } from '@gateway/model-service/jobs/stream-head';
import type { SubmittedJob } from '@gateway/model-service/jobs/submit-job';
import { createWaitingCaller } from '@gateway/model-service/stream/waiting-caller';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { contextOf, endedRequest } from '@gateway/service-kit/request/request-context';
import { errorFrame, streamHead } from '../stream/image-events.ts';
import { completedEvents, expandEvent } from '../stream/job-events.ts';
import type { ImageService } from './image-service.ts';
import { commonHeaders, writeImages } from './write-images.ts';

interface AnswerOptions {
  readonly service: ImageService;
  readonly kind: 'image.generation' | 'image.edit';
  readonly submitted: SubmittedJob<ImageOutput>;
  readonly format: ImageResponseFormat;
  /** The caller wants images as they come. */
  readonly streams: boolean;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Answers a request for images that a worker makes. */
export async function answerImageJob(options: AnswerOptions): Promise<void> {
  const { service, submitted, format, streams, request, response } = options;
  if (streams && submitted.wishes.waitMs === null) return streamJob(options);
  const write = (output: ImageOutput) => writeImages({ service, output, format, request, response });
  await answerJob({ queue: service.queue, submitted, request, response, write });
}

/** What a job has emitted becomes the protocol's event stream; its first event decides that there is one. */
async function streamJob({ service, kind, submitted, request, response }: AnswerOptions): Promise<void> {
  const context = contextOf(request);
  showJob(submitted, context, response);
  const { handle } = submitted;
  const startedAt = performance.now();
  const expand = expandEvent(service);
  const result = handle.result(context.signal);
  // Awaited only after the events.
  result.catch(() => undefined);
  let head: StreamHead | undefined;
  let hasSent = false;
  let isBetweenEvents = true;
  const waiting = createWaitingCaller({
    caller: new HttpCaller(response),
    context,
    keepAliveMs: service.keepAliveMs,
    head: () => streamHead(context),
    errorFrames: (error) => [errorFrame(error)],
    mayInterrupt: () => isBetweenEvents,
  });
  waiting.begin();
  const begin = () => {
    hasSent = true;
    context.line.firstByteMs = Math.round(performance.now() - startedAt);
    if (head !== undefined) {
      const { channel, dropped = [], upstreamAttempts = 1 } = head;
      context.line.channel = channel;
      showJobAttempts({ ...head, upstreamAttempts }, context, response);
      if (!response.headersSent)
        response.setHeaders(new Headers(commonHeaders(context, { channel, dropped })));
    }
    if (!response.headersSent) response.writeHead(200, streamHead(context));
  };
  const send = async (text: string) => {
    if (response.destroyed) return;
    if (!hasSent) begin();
    isBetweenEvents = false;
    for await (const piece of expand(text)) await write(response, piece);
    await write(response, '\n');
    isBetweenEvents = true;
    waiting.spoke();
  };
  try {
    for await (const text of handle.events)
      if (isHead(text)) head = StreamHead.parse(JSON.parse(text));
      else await send(text);
    const output = await result;
    const { channel, images, dropped, costMicroUsd } = output;
    // What was made and could not be had is named among what was dropped.
    const missing = dropped.filter((name) => name.startsWith('data['));
    Object.assign(context.line, { channel, images: images.length + missing.length, costMicroUsd });
    showJobAttempts(output, context, response);
    // What it emitted has gone, as it does soon after the end.
    if (!hasSent) for (const text of completedEvents(kind, output)) await send(text);
    waiting.end();
    response.once('finish', () => handle.delivered('whole'));
    response.end();
  } catch (thrown) {
    const error = endedRequest(context) ?? toGatewayError(thrown);
    if (!waiting.fail(error)) throw error;
  } finally {
    waiting.end();
  }
}

async function write(response: ServerResponse, piece: string): Promise<void> {
  if (response.destroyed || response.write(piece)) return;
  await new Promise<void>((resolve) => {
    const goOn = () => {
      response.off('drain', goOn);
      response.off('close', goOn);
      resolve();
    };
    response.on('drain', goOn);
    response.on('close', goOn);
  });
}
