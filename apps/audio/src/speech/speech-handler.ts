import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AssetStore } from '@gateway/assets/asset-store';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { SpeechOutput } from '@gateway/contracts/jobs';
import { DEFAULT_SPEECH_FORMAT, SpeechRequest } from '@gateway/contracts/openai/speech';
import { failureDetail } from '@gateway/contracts/usage/usage-detail';
import type { ConsumedUsage, UsageOutcome, UsageResult } from '@gateway/contracts/usage/usage-record';
import { usageOfFailure } from '@gateway/contracts/usage/usage-without-reply';
import type { TextChecks } from '@gateway/hooks/text-checks';
import { HttpCaller } from '@gateway/model-service/caller';
import type { ContentLog } from '@gateway/model-service/content-log/content-log';
import { openRequestContent } from '@gateway/model-service/content-log/request-content';
import { answerJob } from '@gateway/model-service/jobs/answer-job';
import { createDiscardedUsage } from '@gateway/model-service/jobs/discarded-usage';
import { fingerprintOfJson } from '@gateway/model-service/jobs/fingerprint';
import { isStrict, type JobWishes, wishesOf } from '@gateway/model-service/jobs/job-wishes';
import { type JobService, reserveSlot, submitJob } from '@gateway/model-service/jobs/submit-job';
import { reserveRequest } from '@gateway/model-service/metered-request';
import { showAttempts } from '@gateway/model-service/show-attempts';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import { createWaitingCaller } from '@gateway/model-service/stream/waiting-caller';
import { usageDetail } from '@gateway/model-service/usage-detail';
import { toGatewayError } from '@gateway/service-kit/error-response';
import type { Handler } from '@gateway/service-kit/request/handler';
import { type JsonBody, readJsonBody } from '@gateway/service-kit/request/json-body';
import {
  CallerLeft,
  contextOf,
  endedRequest,
  identityOf,
  type RequestContext,
} from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import type { Candidate } from '@gateway/upstream/candidate';
import { modelFor } from '@gateway/upstream/model-for';
import type { Attempt } from '@gateway/upstream/replies/reply';
import type { Upstream } from '@gateway/upstream/upstream';
import type { AudioJobKind } from '../audio-service.ts';
import { errorFrame } from '../event-frames.ts';
import { estimateSpeech, usageOfDiscarded, usageOfSpeech, withTokensTold } from '../metering/speech-usage.ts';
import { writeSpeech } from './answer-job.ts';
import { checkedSpeech } from './checked-speech.ts';
import { type StreamFormat, speechCandidates, streamFormatOf } from './speech-candidates.ts';
import { checkAudio, EVENT_STREAM_TYPE, inStreamFormat, speechStreamFor } from './speech-request.ts';

const KIND = 'audio.speech';

interface SpeechOptions extends JobService<AudioJobKind> {
  readonly upstream: Upstream;
  readonly assets: AssetStore;
  readonly checks: TextChecks;
  readonly contentLog: ContentLog;
  readonly jsonMaxBytes: number;
  readonly maxJsonDepth: number;
  /** See `AUDIO_KEEP_ALIVE_MS`. */
  readonly keepAliveMs: number;
}

/**
 * `POST /v1/audio/speech`: checks the request, then streams the upstream's answer straight through. Charged are the
 * characters of the input, as soon as an upstream has begun to speak them. Under `Prefer` or `Idempotency-Key` it is a job.
 */
export const speechHandler =
  (service: SpeechOptions): Handler =>
  async (request, response) => {
    const { upstream, jsonMaxBytes: maxBytes, maxJsonDepth: maxDepth } = service;
    const context = contextOf(request);
    const identity = identityOf(request);
    const startedAt = performance.now();
    const wishes = wishesOf(request);
    const sent = await readJsonBody(request, { maxBytes, maxDepth });
    const requested = validate(SpeechRequest, sent.value);
    const model = modelFor(upstream, {
      name: requested.model,
      protocols: ['speech'],
      identity,
    });
    const candidates = speechCandidates(upstream, model, requested);
    const format = requested.response_format ?? DEFAULT_SPEECH_FORMAT;
    const wanted = requested.stream_format ?? 'audio';
    const reserved = estimateSpeech(model.price, requested);
    const { characters } = reserved.consumption;
    Object.assign(context.line, { model: model.name, format, characters });
    // A job's worker checks it, and logs it.
    if (wishes.isDetached)
      return queueSpeech({ service, wishes, speech: requested, estimate: reserved, request, response });
    const caller = new HttpCaller(response);
    const opening = openRequestContent(service.contentLog, {
      ...{
        endpoint: 'speech',
        model: model.name,
        headers: request.headers,
        identity,
        context,
        bytes: sent.bytes,
      },
    });
    const content = opening && (await opening);
    const costly = {
      endpoint: 'speech',
      model: model.name,
      estimate: reserved,
      caller,
      identity,
      context,
    } as const;
    const metered = await reserveRequest(service, costly).catch((error: unknown) => {
      content?.cancel();
      throw error;
    });
    // Who is over a limit costs no check.
    const { speech, checks } = await checkedSpeech(service.checks, requested, {
      ...identity,
      requestId: context.requestId,
      model: model.name,
      signal: context.signal,
      onNote: (hooks) => {
        context.line.hooks = hooks;
      },
    }).catch(async (thrown: unknown) => {
      content?.cancel();
      await metered.release();
      throw endedRequest(context) ?? toGatewayError(thrown);
    });
    const body = speech === requested ? sent : { ...sent, bytes: Buffer.from(JSON.stringify(speech)) };
    if (body !== sent) content?.replaced(body.bytes);
    const estimate = speech === requested ? reserved : estimateSpeech(model.price, speech);
    let contentType: (() => string) | null = null;
    let firstByteMs: number | null = null;
    // Settled with what follows, which is known in any case.
    const discarded = createDiscardedUsage(() => undefined);
    const settle = (outcome: UsageOutcome, answered: ConsumedUsage, failure?: GatewayError) => {
      const consumed = discarded.with(answered);
      const durationMs = Math.round(performance.now() - startedAt);
      const note = checks?.note;
      const detail = {
        ...consumed.detail,
        ...(note !== undefined && { hooks: note }),
        ...(failure && failureDetail(failure, context.dialect)),
        ...content?.note,
      };
      void metered.settle({ ...consumed, outcome, durationMs, firstByteMs, detail });
      const answer = contentType && { content_type: contentType() };
      content?.end(consumed.channel, { answer, failure });
    };
    const hasLeft = () => context.signal.reason instanceof CallerLeft;

    // Sound has no words for silence.
    const keepAliveMs = wanted === 'sse' ? service.keepAliveMs : 0;
    const waiting = createWaitingCaller({
      caller,
      context,
      keepAliveMs,
      head: () => headOf(EVENT_STREAM_TYPE, context),
      errorFrames: (error) => [errorFrame(error)],
    });
    context.mayBePaid = true;
    waiting.begin();
    const made: Attempt[] = [];
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
        onAttempt: (attempt) => made.push(attempt),
        onDiscarded: (lost) => {
          const used = usageOfDiscarded(model.price, estimate.consumption, lost);
          if (used !== null) discarded.add(used);
        },
        checkOutput: checkAudio,
        dialect: context.dialect,
        signal: context.signal,
        trace: context.trace,
        work: 'paid',
        streamed: true,
      })
      .catch(async (thrown: unknown) => {
        const error = endedRequest(context) ?? toGatewayError(thrown);
        showAttempts(made, context, caller);
        const usage = {
          ...usageOfFailure(estimate, error.code, made),
          detail: usageDetail({ attempts: made }),
        };
        settle(hasLeft() ? 'left' : 'failed', usage, error);
        await metered.givenBack();
        if (waiting.fail(error)) return null;
        throw error;
      });
    if (reply === null) return;
    const channel = reply.candidate.channel.name;
    firstByteMs = Math.round(performance.now() - startedAt);
    showAttempts(made, context, caller);
    const dropped = reply.dropped.join(', ');
    let usage = usageOfSpeech(model.price, estimate, {
      channel,
      attempts: reply.attempts.length,
      detail: usageDetail({ attempts: made, dropped, isStreamed: true }),
    });
    const account = reply.candidate.account.name;
    const { costMicroUsd } = discarded.with(usage);
    Object.assign(context.line, { channel, account, firstByteMs, costMicroUsd });

    const onDone = (event: string) => {
      usage = withTokensTold(usage, model.price, event);
      context.line.costMicroUsd = discarded.with(usage).costMicroUsd;
    };
    const spoken = speechStreamFor(speech, reply, onDone);
    contentType = spoken.contentType;
    const end = await relayStream({
      reply,
      caller,
      context,
      stream: spoken.stream,
      keepAliveMs,
      onFirstByte: waiting.end,
      headers: () => ({
        ...headOf(spoken.contentType(), context),
        'x-gateway-channel': channel,
        ...(dropped !== '' && { 'x-gateway-dropped': dropped }),
      }),
      onEnd: (failure) => settle(failure ? 'cut' : hasLeft() ? 'left' : 'ok', usage, failure),
    })
      .finally(metered.givenBack)
      .catch((thrown: unknown) => {
        if (!waiting.fail(thrown)) throw thrown;
      });
    end?.();
  };

const headOf = (contentType: string, { requestId }: RequestContext) => ({
  'content-type': contentType,
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  'x-request-id': requestId,
  'request-id': requestId,
});

interface QueueOptions {
  readonly service: SpeechOptions;
  readonly wishes: JobWishes;
  readonly speech: SpeechRequest;
  readonly estimate: UsageResult;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Speech that goes on without its caller is made by a worker, whole. */
async function queueSpeech({ service, wishes, speech, estimate, request, response }: QueueOptions) {
  const { queue, assets } = service;
  const { model, ...parameters } = speech;
  const strict = isStrict(request);
  await using slot = await reserveSlot(service, { kind: KIND, wishes, request });
  const submitted = await submitJob(service, {
    kind: KIND,
    endpoint: 'speech',
    estimate,
    input: { model, parameters, strict },
    slot,
    wishes,
    fingerprint: () => fingerprintOfJson(KIND, [strict, speech]),
    request,
    response,
  });
  const write = (output: SpeechOutput) => writeSpeech(assets, output, request, response);
  await answerJob({ queue, submitted, request, response, write });
}

/** The caller's own bytes, unless the channel has another name for the model, or another way of streaming. */
function bodyFor(
  candidate: Candidate,
  { bytes }: JsonBody,
  speech: SpeechRequest,
  streamFormat: StreamFormat,
): Buffer {
  const wanted = speech.stream_format ?? 'audio';
  if (candidate.model === speech.model && streamFormat === wanted) return bytes;
  return Buffer.from(JSON.stringify(inStreamFormat(speech, candidate, streamFormat)));
}
