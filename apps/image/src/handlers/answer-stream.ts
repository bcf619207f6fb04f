import type { IncomingMessage, ServerResponse } from 'node:http';
import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageOutput } from '@gateway/contracts/jobs';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { failureDetail } from '@gateway/contracts/usage/usage-detail';
import type { UsageOutcome, UsageResult } from '@gateway/contracts/usage/usage-record';
import { type ConsumedUsage, usageOfFailure } from '@gateway/contracts/usage/usage-without-reply';
import type { DirectJob } from '@gateway/jobs/queue/direct-job';
import { newJobId } from '@gateway/jobs/redis/job-keys';
import type { Delivery } from '@gateway/jobs/results/kept-results';
import { type Caller, HttpCaller } from '@gateway/model-service/caller';
import { reserveRequest, turnTakerOf } from '@gateway/model-service/metered-request';
import { showAttempts } from '@gateway/model-service/show-attempts';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import { createWaitingCaller, type WaitingCaller } from '@gateway/model-service/stream/waiting-caller';
import { usageDetail } from '@gateway/model-service/usage-detail';
import { toGatewayError } from '@gateway/service-kit/error-response';
import {
  CallerLeft,
  contextOf,
  endedRequest,
  identityOf,
} from '@gateway/service-kit/request/request-context';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { attemptsHeader } from '@gateway/upstream/replies/attempts-header';
import type { Attempt } from '@gateway/upstream/replies/reply';
import { streamingCandidates } from '../families/rules-for.ts';
import { createImageCollector, type ImageCollector } from '../making/reply/image-collector.ts';
import { readWholeImages } from '../making/reply/whole-images.ts';
import { type Prepare, requestImages } from '../making/request/call-upstream.ts';
import { estimateImages, type ImageOrder, usageOfImages } from '../metering/image-order.ts';
import { errorFrame, eventsOfReply, imageStream, streamHead } from '../stream/image-events.ts';
import type { ImageService } from './image-service.ts';
import { commonHeaders } from './write-images.ts';

type Kind = 'image.generation' | 'image.edit';

interface StreamOptions {
  readonly service: ImageService;
  readonly kind: Kind;
  readonly model: ResolvedModel;
  readonly order: ImageOrder;
  readonly prepare: Prepare;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Answers with images as they come. Straight from the upstream: the caller holds the connection, so a queue would add
 * nothing but copies of every picture in Redis. Charged is what was completed. It is a job all the same, which can be found,
 * followed and cancelled, and whose result is kept.
 *
 * @throws {GatewayError} before the stream has begun; afterwards an error event in the stream
 */
export async function answerStream(options: StreamOptions): Promise<void> {
  const { service, request } = options;
  const context = contextOf(request);
  const caller = new HttpCaller(options.response);
  const waiting = createWaitingCaller({
    caller,
    context,
    keepAliveMs: service.keepAliveMs,
    head: () => streamHead(context),
    errorFrames: (error) => [errorFrame(error)],
  });
  try {
    await streamTo(waiting, { ...options, caller });
  } catch (error) {
    if (!waiting.fail(error)) throw error;
  } finally {
    waiting.end();
  }
}

async function streamTo(
  waiting: WaitingCaller,
  options: StreamOptions & { readonly caller: Caller },
): Promise<void> {
  const { service, model, order, request, caller } = options;
  const context = contextOf(request);
  const startedAt = performance.now();
  const candidates = streamingCandidates(service.upstream, model);
  const estimate = estimateImages(model, order);
  const identity = identityOf(request);
  const costly = { endpoint: 'images', model: model.name, estimate, caller, identity, context };
  const metered = await reserveRequest(service, costly);
  let firstByteMs: number | null = null;
  const settle = (outcome: UsageOutcome, consumed: ConsumedUsage, failure?: GatewayError) => {
    const durationMs = Math.round(performance.now() - startedAt);
    const detail = { ...consumed.detail, ...(failure && failureDetail(failure, context.dialect)) };
    const result: UsageResult = { ...consumed, outcome, durationMs, firstByteMs, detail };
    void metered.settle(result);
  };
  const failedAs = (): UsageOutcome => (context.signal.reason instanceof CallerLeft ? 'left' : 'failed');

  const job = await beginJob(options).catch(async (thrown: unknown) => {
    const error = toGatewayError(thrown);
    settle('failed', usageOfFailure(estimate, error.code, []), error);
    await metered.givenBack();
    throw error;
  });
  context.mayBePaid = true;
  waiting.begin();
  const requested: Attempt[] = [];
  const { reply, dropped } = await requestImages({
    upstream: service.upstream,
    candidates,
    prepare: options.prepare,
    streamed: true,
    signal: AbortSignal.any([context.signal, job.signal]),
    onAttempt: (attempt) => requested.push(attempt),
  }).catch(async (thrown: unknown) => {
    const error = endedRequest(context) ?? toGatewayError(thrown);
    showAttempts(requested, context, caller);
    const detail = usageDetail({ attempts: requested });
    settle(failedAs(), { ...usageOfFailure(estimate, error.code, requested), detail }, error);
    await metered.givenBack();
    job.fail(error);
    throw error;
  });
  const channel = reply.candidate.channel.name;
  const attempts = reply.attempts.length;
  firstByteMs = Math.round(performance.now() - startedAt);
  showAttempts(requested, context, caller);
  const detail = usageDetail({ attempts: requested, dropped: dropped.join(', '), isStreamed: true });
  const account = reply.candidate.account.name;
  Object.assign(context.line, { channel, account, attempts, firstByteMs });
  const headersWith = (missing: readonly string[]) => ({
    ...streamHead(context),
    ...commonHeaders(context, { channel, dropped: [...dropped, ...missing] }),
  });
  /** Images that were made and cannot be had are charged as well. */
  const charge = (
    outcome: UsageOutcome,
    completed: readonly string[],
    failure?: GatewayError,
    missing = 0,
  ) => {
    const images = completed.length + missing;
    const reported = completed.map((event) => jsonIn(event));
    const usage = usageOfImages({ price: model.price, order, images, reported, channel, attempts, detail });
    Object.assign(context.line, { images, costMicroUsd: usage.costMicroUsd });
    settle(outcome, usage, failure);
    return usage.costMicroUsd;
  };
  const keep = (costMicroUsd: number | null, missing: readonly string[] = []) =>
    job.complete(
      {
        ...{ channel, dropped: [...dropped, ...missing], costMicroUsd, responseFormat: 'b64_json' },
        upstreamAttempts: attempts,
        attemptList: attemptsHeader(requested) ?? undefined,
        account,
        nowMs: service.now(),
      },
      failedAs() === 'left' ? null : 'whole',
    );

  if (!isEventStream(reply.headers)) {
    const { images, missing } = await readWholeImages(reply, service.upstream).catch(
      async (thrown: unknown) => {
        const error = endedRequest(context) ?? toGatewayError(thrown);
        settle(failedAs(), { ...estimate, channel, attempts, detail }, error);
        await metered.givenBack();
        job.fail(error);
        throw error;
      },
    );
    const events = eventsOfReply(images, order.inputImages > 0 ? 'image_edit' : 'image_generation');
    for (const { data } of events) job.take(data);
    const completed = events.map((event) => event.completed);
    keep(charge('ok', completed, undefined, missing.length), missing);
    await metered.givenBack();
    waiting.end();
    caller.begin(200, headersWith(missing));
    caller.end(events.map(({ frame }) => frame));
    return;
  }
  const { events, stream } = imageStream(order.n ?? 1, job.take);
  let hasBegun = false;
  let failed: GatewayError | null = null;
  const giveBack = async () => {
    await metered.givenBack();
    // Who has cancelled the job waits for its end.
    if (failed !== null) job.fail(failed);
  };
  const end = await relayStream({
    reply,
    caller,
    context,
    stream,
    headers: headersWith([]),
    keepAliveMs: service.keepAliveMs,
    onFirstByte: () => {
      waiting.end();
      hasBegun = true;
    },
    onEnd: (failure) => {
      const broken = hasBegun ? 'cut' : 'failed';
      const outcome = failure === undefined ? 'ok' : broken;
      const costMicroUsd = charge(failedAs() === 'left' ? 'left' : outcome, events.completed, failure);
      if (failure === undefined && events.completed.length >= (order.n ?? 1)) keep(costMicroUsd);
      else failed = failure ?? callerLeft();
    },
  }).finally(giveBack);
  end();
}

/** The job of a stream, as far as it can be kept: the caller's stream goes on without it. */
interface StreamJob extends Pick<ImageCollector, 'take'> {
  /** Aborted when somebody cancels the job. */
  readonly signal: AbortSignal;
  complete(end: Parameters<ImageCollector['finish']>[0], delivery: Delivery | null): void;
  fail(error: GatewayError): void;
}

/** Without Redis there is a stream, but no job. @throws {GatewayError} `result_quota_exhausted` */
async function beginJob({ service, kind, model, request, response }: StreamOptions): Promise<StreamJob> {
  const { line } = contextOf(request);
  const id = newJobId();
  let job: DirectJob<ImageOutput>;
  try {
    job = await service.queue.beginDirect(kind, { ...turnTakerOf(request), id, model: model.name });
  } catch (error) {
    const { code } = toGatewayError(error);
    if (code === 'result_quota_exhausted') throw error;
    line['job.error'] = code;
    return {
      signal: new AbortController().signal,
      take: () => undefined,
      complete: () => undefined,
      fail: () => undefined,
    };
  }
  line.jobId = id;
  response.setHeader('x-gateway-job', id);
  const collector = createImageCollector({ assets: service.assets, jobId: id, emit: job.emit });
  const fail = (error: GatewayError) => void job.fail(error);
  return {
    signal: job.signal,
    take: collector.take,
    complete: (end, delivery) =>
      void collector
        .finish(end)
        .then((output) => job.complete(output, delivery))
        .catch((error: unknown) => fail(toGatewayError(error))),
    fail,
  };
}

const callerLeft = (): GatewayError =>
  new GatewayError('job_cancelled', 'The caller left before its images were complete.');
