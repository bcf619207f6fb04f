import { GatewayError } from '@gateway/contracts/gateway-error';
import { endedRequest } from '@gateway/service-kit/ended-request';
import { contextOf } from '@gateway/service-kit/request-context';
import type { Candidate, ResolvedModel } from '@gateway/upstream/catalog';
import type { Request, Response } from 'express';
import { rulesOfCandidate } from '../families/rules-for.ts';
import { askForImages, badReply } from '../making/ask-upstream.ts';
import type { Prepared } from '../making/generation-request.ts';
import { relayStream } from '../stream/relay-stream.ts';
import { commonHeaders } from './common-headers.ts';
import type { ImageService } from './image-service.ts';

interface StreamOptions {
  readonly service: ImageService;
  readonly model: ResolvedModel;
  readonly prepare: (candidate: Candidate) => Prepared | Promise<Prepared>;
  readonly request: Request;
  readonly response: Response;
}

/**
 * Answers with images as they come. Straight from the upstream: the caller holds the connection, so a queue would add
 * nothing but copies of every picture in Redis.
 *
 * @throws {GatewayError} before the stream has begun; afterwards the stream itself says what went wrong
 */
export async function answerStream({
  service,
  model,
  prepare,
  request,
  response,
}: StreamOptions): Promise<void> {
  const context = contextOf(request);
  const { upstream } = service;
  const startedAt = performance.now();
  const candidates = upstream
    .candidates({ model, protocol: 'images' })
    .filter((candidate) => rulesOfCandidate(model, candidate).streams);
  if (candidates.length === 0) throw noStreams(model.name);
  const { reply, dropped } = await askForImages({
    upstream,
    candidates,
    prepare,
    streamed: true,
    signal: context.signal,
  }).catch((error: unknown) => {
    throw endedRequest(context) ?? error;
  });
  if (!reply.headers['content-type']?.startsWith('text/event-stream')) {
    reply.cancel();
    throw badReply('The upstream did not answer with a stream.');
  }
  const channel = reply.candidate.channel.name;
  Object.assign(context.line, {
    channel,
    attempts: reply.attempts.length,
    firstByteMs: Math.round(performance.now() - startedAt),
  });
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    ...commonHeaders(context, { channel, dropped }),
  });
  const { completed, failure } = await relayStream(reply, response, () => endedRequest(context));
  context.line.images = completed.length;
  if (failure !== undefined) context.failure = failure;
  response.end();
}

const noStreams = (name: string): GatewayError =>
  new GatewayError('unsupported_parameter', {
    path: ['stream'],
    message: `Unsupported parameter: 'stream' is not available with the model '${name}'.`,
  });
