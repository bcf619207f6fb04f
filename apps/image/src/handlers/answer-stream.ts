import { GatewayError } from '@gateway/contracts/gateway-error';
import type { UsageOutcome, UsageResult } from '@gateway/contracts/usage-record';
import { type ConsumedUsage, usageOfFailure } from '@gateway/contracts/usage-without-reply';
import { reserveRequest } from '@gateway/model-service/metered-request';
import { endedRequest } from '@gateway/service-kit/ended-request';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { CallerLeft, contextOf } from '@gateway/service-kit/request-context';
import type { Candidate, ResolvedModel } from '@gateway/upstream/catalog';
import type { Attempt, Reply } from '@gateway/upstream/reply';
import type { Request, Response } from 'express';
import { rulesOfCandidate } from '../families/rules-for.ts';
import { askForImages, badReply } from '../making/ask-upstream.ts';
import type { Prepared } from '../making/generation-request.ts';
import { estimateImages, type ImageOrder, usageOfImages } from '../metering/image-order.ts';
import { relayStream } from '../stream/relay-stream.ts';
import { commonHeaders } from './common-headers.ts';
import type { ImageService } from './image-service.ts';

interface StreamOptions {
  readonly service: ImageService;
  readonly model: ResolvedModel;
  readonly order: ImageOrder;
  readonly prepare: (candidate: Candidate) => Prepared | Promise<Prepared>;
  readonly request: Request;
  readonly response: Response;
}

/**
 * Answers with images as they come. Straight from the upstream: the caller holds the connection, so a queue would add
 * nothing but copies of every picture in Redis. Charged is what was completed.
 *
 * @throws {GatewayError} before the stream has begun; afterwards the stream itself says what went wrong
 */
export async function answerStream(options: StreamOptions): Promise<void> {
  const { service, model, order, request, response } = options;
  const context = contextOf(request);
  const startedAt = performance.now();
  const candidates = service.upstream
    .candidates({ model, protocol: 'images' })
    .filter((candidate) => rulesOfCandidate(model, candidate).streams);
  if (candidates.length === 0) throw noStreams(model.name);
  const estimate = estimateImages(model, order);
  const costly = { endpoint: 'images', model: model.name, estimate, request, response };
  const metered = await reserveRequest(service, costly);
  let firstByteMs: number | null = null;
  const settle = (outcome: UsageOutcome, consumed: ConsumedUsage) => {
    const durationMs = Math.round(performance.now() - startedAt);
    const result: UsageResult = { ...consumed, outcome, durationMs, firstByteMs };
    void metered.settle(result);
  };
  const failedAs = (): UsageOutcome => (context.signal.reason instanceof CallerLeft ? 'left' : 'failed');

  const asked: Attempt[] = [];
  const { reply, dropped } = await askForImages({
    upstream: service.upstream,
    candidates,
    prepare: options.prepare,
    streamed: true,
    signal: context.signal,
    onAttempt: (attempt) => asked.push(attempt),
  }).catch((thrown: unknown) => {
    const error = endedRequest(context) ?? toGatewayError(thrown);
    settle(failedAs(), usageOfFailure(estimate, error.code, asked));
    throw error;
  });
  const channel = reply.candidate.channel.name;
  const attempts = reply.attempts.length;
  if (!isEventStream(reply)) {
    reply.cancel();
    settle(failedAs(), { ...estimate, channel, attempts });
    throw badReply('The upstream did not answer with a stream.');
  }
  firstByteMs = Math.round(performance.now() - startedAt);
  Object.assign(context.line, { channel, attempts, firstByteMs });
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    ...commonHeaders(context, { channel, dropped }),
  });
  const { completed, failure } = await relayStream(reply, response, () => endedRequest(context));
  const images = completed.length;
  const { price } = model;
  const usage = usageOfImages({ price, order, images, said: completed.map(toJson), channel, attempts });
  Object.assign(context.line, { images, costMicroUsd: usage.costMicroUsd });
  if (failure !== undefined) context.failure = failure;
  settle(failure === undefined ? 'ok' : failedAs() === 'left' ? 'left' : 'cut', usage);
  response.end();
}

const isEventStream = ({ headers }: Reply): boolean =>
  headers['content-type']?.startsWith('text/event-stream') ?? false;

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const noStreams = (name: string): GatewayError =>
  new GatewayError('unsupported_parameter', {
    path: ['stream'],
    message: `Unsupported parameter: 'stream' is not available with the model '${name}'.`,
  });
