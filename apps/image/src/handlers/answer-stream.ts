import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImagesReply } from '@gateway/contracts/openai/images';
import type { UsageOutcome, UsageResult } from '@gateway/contracts/usage-record';
import { type ConsumedUsage, usageOfFailure } from '@gateway/contracts/usage-without-reply';
import { reserveRequest } from '@gateway/model-service/metered-request';
import { isEventStream } from '@gateway/model-service/stream/is-event-stream';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import { endedRequest } from '@gateway/service-kit/ended-request';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { CallerLeft, contextOf } from '@gateway/service-kit/request-context';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { Attempt, Reply } from '@gateway/upstream/reply';
import type { Request, Response } from 'express';
import { rulesOfCandidate } from '../families/rules-for.ts';
import { askForImages, badReply, type Prepare, readImagesReply } from '../making/ask-upstream.ts';
import { estimateImages, type ImageOrder, usageOfImages } from '../metering/image-order.ts';
import { eventsOfReply, imageStream } from '../stream/image-events.ts';
import { commonHeaders } from './common-headers.ts';
import type { ImageService } from './image-service.ts';

interface StreamOptions {
  readonly service: ImageService;
  readonly model: ResolvedModel;
  readonly order: ImageOrder;
  readonly prepare: Prepare;
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

  context.mayBePaid = true;
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
  firstByteMs = Math.round(performance.now() - startedAt);
  Object.assign(context.line, { channel, attempts, firstByteMs });
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    ...commonHeaders(context, { channel, dropped }),
  };
  const charge = (outcome: UsageOutcome, completed: readonly string[]) => {
    const images = completed.length;
    const said = completed.map(toJson);
    const usage = usageOfImages({ price: model.price, order, images, said, channel, attempts });
    Object.assign(context.line, { images, costMicroUsd: usage.costMicroUsd });
    settle(outcome, usage);
  };

  if (!isEventStream(reply.headers)) {
    const whole = await readWhole(reply).catch((error: unknown) => {
      settle(failedAs(), { ...estimate, channel, attempts });
      throw endedRequest(context) ?? error;
    });
    const events = eventsOfReply(whole, order.inputImages > 0 ? 'image_edit' : 'image_generation');
    charge(
      'ok',
      events.map(({ completed }) => completed),
    );
    response.writeHead(200, headers);
    response.end(events.map(({ frame }) => frame).join(''));
    return;
  }
  const { events, stream } = imageStream();
  await relayStream({
    reply,
    response,
    context,
    stream,
    headers,
    onEnd: (failure) => {
      const broken = response.headersSent ? 'cut' : 'failed';
      const outcome = failure === undefined ? 'ok' : broken;
      charge(failedAs() === 'left' ? 'left' : outcome, events.completed);
    },
  });
}

/** An upstream that does not stream answers with all images at once: their bytes, since a place cannot be streamed. */
async function readWhole(reply: Reply): Promise<ImagesReply> {
  const whole = await readImagesReply(reply);
  if (whole.data.every(({ b64_json }) => typeof b64_json === 'string')) return whole;
  throw badReply('The upstream answered with something that holds no images.');
}

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
