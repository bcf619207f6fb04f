import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { dataFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { TranscriptionOutput } from '@gateway/contracts/jobs';
import { ATTEMPTS_HEADER } from '@gateway/contracts/usage/usage-detail';
import type { Delivery } from '@gateway/jobs/results/kept-results';
import { HttpCaller } from '@gateway/model-service/caller';
import { showJob } from '@gateway/model-service/jobs/answer-job';
import { showJobAttempts } from '@gateway/model-service/jobs/job-attempts';
import { StreamHead } from '@gateway/model-service/jobs/stream-head';
import type { SubmittedJob } from '@gateway/model-service/jobs/submit-job';
import { createWaitingCaller } from '@gateway/model-service/stream/waiting-caller';
import { toGatewayError } from '@gateway/service-kit/error-response';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import { endedRequest } from '@gateway/service-kit/request/request-context';
import { z } from 'zod';
import { errorFrame } from '../event-frames.ts';

const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

const WithText = z.looseObject({ text: z.string() });

/** A transcript that came whole, for a caller who has been kept waiting by an event stream. */
function doneFrame({ body, contentType }: TranscriptionOutput): string {
  const text = contentType.startsWith('application/json') ? WithText.parse(JSON.parse(body)).text : body;
  return dataFrame({ type: 'transcript.text.done', text });
}

interface AnswerOptions {
  /** See `AUDIO_KEEP_ALIVE_MS`. */
  readonly keepAliveMs: number;
  readonly submitted: SubmittedJob<TranscriptionOutput>;
  readonly response: ServerResponse;
  readonly context: RequestContext;
}

/**
 * Waits for a transcription and answers with it. What the job emits is passed on as it comes; so the first event
 * decides whether the answer is an event stream, and until then an error is an HTTP error. A caller who leaves cancels
 * the job.
 *
 * @throws {GatewayError} the job's own, as long as nothing has been sent
 */
export async function streamJob({ keepAliveMs, submitted, response, context }: AnswerOptions): Promise<void> {
  showJob(submitted, context, response);
  const { handle } = submitted;
  const startedAt = performance.now();
  const result = handle.result(context.signal);
  // Awaited only after the events, of which there may be many.
  result.catch(() => undefined);

  let streaming = false;
  const waiting = createWaitingCaller({
    caller: new HttpCaller(response),
    context,
    keepAliveMs,
    head: () => ({ ...EVENT_STREAM, ...idsOf(context) }),
    errorFrames: (error) => [errorFrame(error)],
  });
  waiting.begin();
  try {
    for await (const text of handle.events) {
      if (response.destroyed) continue;
      if (!streaming) {
        streaming = true;
        beginStream(StreamHead.parse(JSON.parse(text)), response, context);
        context.line.firstByteMs = Math.round(performance.now() - startedAt);
      } else response.write(text);
      waiting.spoke();
    }
    const output = await result;
    waiting.end();
    if (streaming || response.headersSent) {
      logTranscript(output, context, response);
      response.once('finish', () => handle.delivered('whole'));
      response.end(streaming ? '' : doneFrame(output));
    } else handle.delivered(await writeTranscript(output, response, context));
  } catch (thrown) {
    const error = endedRequest(context) ?? toGatewayError(thrown);
    if (!waiting.fail(error)) throw error;
  } finally {
    waiting.end();
  }
}

function beginStream(head: StreamHead, response: ServerResponse, context: RequestContext): void {
  context.line.channel = head.channel;
  if (response.headersSent) return;
  response.writeHead(200, { ...headersOf(head, context), ...EVENT_STREAM });
  response.flushHeaders();
}

/** Answers with a whole transcript. Resolves when the caller has got all of it. */
export async function writeTranscript(
  output: TranscriptionOutput,
  response: ServerResponse,
  context: RequestContext,
): Promise<Delivery> {
  logTranscript(output, context, response);
  response.writeHead(200, {
    ...headersOf(output, context),
    'content-type': output.contentType,
    'content-length': Buffer.byteLength(output.body),
  });
  await pipeline([output.body], response);
  return 'whole';
}

const idsOf = ({ requestId }: Pick<RequestContext, 'requestId'>) => ({
  'x-request-id': requestId,
  'request-id': requestId,
});

const headersOf = ({ channel, dropped = [], attemptList }: StreamHead, { requestId }: RequestContext) => ({
  ...idsOf({ requestId }),
  'x-gateway-channel': channel,
  ...(dropped.length > 0 && { 'x-gateway-dropped': dropped.join(', ') }),
  ...(attemptList !== undefined && { [ATTEMPTS_HEADER]: attemptList }),
});

function logTranscript(output: TranscriptionOutput, context: RequestContext, response: ServerResponse): void {
  const { durationSeconds, channel, costMicroUsd, parts } = output;
  const { line } = context;
  Object.assign(line, { channel, costMicroUsd, parts });
  showJobAttempts(output, context, response);
  if (durationSeconds !== null) line.audioSeconds = durationSeconds;
}
