import { DEFAULT_SPEECH_FORMAT, SPEECH_CONTENT_TYPES, SpeechRequest } from '@gateway/contracts/openai/speech';
import { characterCount } from '@gateway/contracts/wire-types';
import { endedRequest } from '@gateway/service-kit/ended-request';
import { type JsonBody, readJsonBody } from '@gateway/service-kit/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request-context';
import { validate } from '@gateway/service-kit/validate';
import type { Candidate } from '@gateway/upstream/catalog';
import { modelFor } from '@gateway/upstream/model-for';
import type { Upstream } from '@gateway/upstream/upstream';
import type { RequestHandler } from 'express';
import { isEventStream } from '../event-stream/is-event-stream.ts';
import { judgeAudio } from './judge-audio.ts';
import { relayAudio } from './relay-audio.ts';
import { relayEvents } from './relay-events.ts';
import { speechCandidates } from './speech-candidates.ts';

interface SpeechOptions {
  readonly upstream: Upstream;
  readonly jsonMaxBytes: number;
}

/** `POST /v1/audio/speech`: checks the request, then streams the upstream's answer straight through. */
export const speechHandler =
  ({ upstream, jsonMaxBytes }: SpeechOptions): RequestHandler =>
  async (request, response) => {
    const context = contextOf(request);
    const startedAt = performance.now();
    const body = await readJsonBody(request, { maxBytes: jsonMaxBytes });
    const speech = validate(SpeechRequest, body.value);
    const model = modelFor(upstream, {
      name: speech.model,
      protocols: ['speech'],
      identity: identityOf(request),
    });
    const format = speech.response_format ?? DEFAULT_SPEECH_FORMAT;
    Object.assign(context.line, { model: model.name, format, characters: characterCount(speech.input) });

    const reply = await upstream
      .send({
        candidates: speechCandidates(upstream, model, speech),
        request: (candidate) => ({
          operation: 'speech',
          method: 'POST',
          headers: request.headers,
          body: bodyFor(candidate, body, speech),
        }),
        judge: judgeAudio(speech.stream_format === 'sse'),
        dialect: context.dialect,
        signal: context.signal,
        work: 'paid',
        streamed: true,
      })
      .catch((error: unknown) => {
        throw endedRequest(context) ?? error;
      });
    const channel = reply.candidate.channel.name;
    Object.assign(context.line, { channel, firstByteMs: Math.round(performance.now() - startedAt) });

    const isEvents = isEventStream(reply.headers);
    const relay = isEvents ? relayEvents : relayAudio;
    await relay({
      reply,
      response,
      context,
      headers: {
        'content-type': isEvents ? 'text/event-stream; charset=utf-8' : SPEECH_CONTENT_TYPES[format],
        'cache-control': 'no-store',
        'x-request-id': context.requestId,
        'request-id': context.requestId,
        'x-gateway-channel': channel,
      },
    });
  };

/** The caller's own bytes, unless the channel has another name for the model. */
function bodyFor(candidate: Candidate, { bytes }: JsonBody, speech: SpeechRequest): Buffer {
  if (candidate.model === speech.model) return bytes;
  return Buffer.from(JSON.stringify({ ...speech, model: candidate.model }));
}
