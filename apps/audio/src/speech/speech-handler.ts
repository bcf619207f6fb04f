import { DEFAULT_SPEECH_FORMAT, SPEECH_CONTENT_TYPES, SpeechRequest } from '@gateway/contracts/openai/speech';
import type { UsageOutcome } from '@gateway/contracts/usage-record';
import { type ConsumedUsage, usageOfFailure } from '@gateway/contracts/usage-without-reply';
import type { Meter } from '@gateway/metering/meter/meter';
import { isStrict } from '@gateway/model-service/is-strict';
import { reserveRequest } from '@gateway/model-service/metered-request';
import { isEventStream } from '@gateway/model-service/stream/is-event-stream';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import type { RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import { endedRequest } from '@gateway/service-kit/ended-request';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { type JsonBody, readJsonBody } from '@gateway/service-kit/json-body';
import { CallerLeft, contextOf, identityOf } from '@gateway/service-kit/request-context';
import { validate } from '@gateway/service-kit/validate';
import type { Candidate } from '@gateway/upstream/catalog';
import { modelFor } from '@gateway/upstream/model-for';
import type { Attempt } from '@gateway/upstream/reply';
import type { Upstream } from '@gateway/upstream/upstream';
import type { RequestHandler } from 'express';
import { estimateSpeech, withTokensTold } from '../metering/speech-usage.ts';
import { checkAudio } from './check-audio.ts';
import { AudioAsEvents, EventsAsAudio } from './converted-speech.ts';
import { type StreamFormat, speechCandidates, streamFormatOf } from './speech-candidates.ts';
import { audioStream, speechEventStream } from './speech-stream.ts';

interface SpeechOptions {
  readonly upstream: Upstream;
  readonly meter: Meter;
  readonly jsonMaxBytes: number;
  readonly maxJsonDepth: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/**
 * `POST /v1/audio/speech`: checks the request, then streams the upstream's answer straight through. Charged are the
 * characters of the input, as soon as an upstream has begun to speak them.
 */
export const speechHandler =
  (service: SpeechOptions): RequestHandler =>
  async (request, response) => {
    const { upstream, jsonMaxBytes: maxBytes, maxJsonDepth: maxDepth } = service;
    const context = contextOf(request);
    const startedAt = performance.now();
    const body = await readJsonBody(request, { maxBytes, maxDepth });
    const speech = validate(SpeechRequest, body.value);
    const model = modelFor(upstream, {
      name: speech.model,
      protocols: ['speech'],
      identity: identityOf(request),
    });
    const format = speech.response_format ?? DEFAULT_SPEECH_FORMAT;
    const wanted = speech.stream_format ?? 'audio';
    const candidates = speechCandidates(upstream, model, speech);
    const estimate = estimateSpeech(model.price, speech);
    const { characters } = estimate.consumption;
    Object.assign(context.line, { model: model.name, format, characters });
    const costly = { endpoint: 'speech', model: model.name, estimate, request, response };
    const metered = await reserveRequest(service, costly);
    let firstByteMs: number | null = null;
    const settle = (outcome: UsageOutcome, consumed: ConsumedUsage) => {
      const durationMs = Math.round(performance.now() - startedAt);
      void metered.settle({ ...consumed, outcome, durationMs, firstByteMs });
    };
    const hasLeft = () => context.signal.reason instanceof CallerLeft;

    context.mayBePaid = true;
    const asked: Attempt[] = [];
    const reply = await upstream
      .send({
        candidates,
        request: (candidate) => ({
          operation: 'speech',
          method: 'POST',
          headers: request.headers,
          strict: isStrict(request),
          body: bodyFor(candidate, body, speech, streamFormatOf(candidate, model, wanted)),
        }),
        onAttempt: (attempt) => asked.push(attempt),
        checkOutput: checkAudio,
        dialect: context.dialect,
        signal: context.signal,
        work: 'paid',
        streamed: true,
      })
      .catch((thrown: unknown) => {
        const error = endedRequest(context) ?? toGatewayError(thrown);
        settle(hasLeft() ? 'left' : 'failed', usageOfFailure(estimate, error.code, asked));
        throw error;
      });
    const channel = reply.candidate.channel.name;
    firstByteMs = Math.round(performance.now() - startedAt);
    let usage = { ...estimate, channel, attempts: reply.attempts.length };
    Object.assign(context.line, { channel, firstByteMs, costMicroUsd: usage.costMicroUsd });

    const onDone = (event: string) => {
      usage = withTokensTold(usage, model.price, event);
      context.line.costMicroUsd = usage.costMicroUsd;
    };
    await relayStream({
      reply,
      response,
      context,
      stream: SPEECH_STREAMS[wanted][isEventStream(reply.headers) ? 'sse' : 'audio'](onDone),
      headers: {
        'content-type': wanted === 'sse' ? 'text/event-stream; charset=utf-8' : SPEECH_CONTENT_TYPES[format],
        'cache-control': 'no-store',
        'x-request-id': context.requestId,
        'request-id': context.requestId,
        'x-gateway-channel': channel,
        ...(reply.dropped.length > 0 && { 'x-gateway-dropped': reply.dropped.join(', ') }),
      },
      onEnd: (failure) => settle(failure ? 'cut' : hasLeft() ? 'left' : 'ok', usage),
    });
  };

type MakeStream = (onDone: (event: string) => void) => RelayedStream;

/** What the caller wants, by what the upstream answers with. */
const SPEECH_STREAMS: Readonly<Record<StreamFormat, Readonly<Record<StreamFormat, MakeStream>>>> = {
  audio: { audio: audioStream, sse: (onDone) => new EventsAsAudio(onDone) },
  sse: { audio: () => new AudioAsEvents(), sse: speechEventStream },
};

/** The caller's own bytes, unless the channel has another name for the model, or another way of streaming. */
function bodyFor(
  candidate: Candidate,
  { bytes }: JsonBody,
  speech: SpeechRequest,
  streamFormat: StreamFormat,
): Buffer {
  const wanted = speech.stream_format ?? 'audio';
  if (candidate.model === speech.model && streamFormat === wanted) return bytes;
  const { stream_format: asked, ...rest } = speech;
  // A provider that has raw audio only may not know the member.
  const member = streamFormat === 'sse' ? { stream_format: streamFormat } : {};
  const kept = streamFormat === wanted && asked !== undefined ? { stream_format: asked } : member;
  return Buffer.from(JSON.stringify({ ...rest, model: candidate.model, ...kept }));
}
