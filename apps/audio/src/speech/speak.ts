import { assetId } from '@gateway/assets/asset-id';
import type { AssetStore } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { type SpeechInput, SpeechOutput } from '@gateway/contracts/jobs';
import { SpeechRequest } from '@gateway/contracts/openai/speech';
import type { ConsumedUsage } from '@gateway/contracts/usage/usage-record';
import { requestOfJob, type TextChecks } from '@gateway/hooks/text-checks';
import { readOutput } from '@gateway/jobs/files/job-files';
import type { JobContext, JobProcessor } from '@gateway/jobs/worker/job-processor';
import type { ContentLog } from '@gateway/model-service/content-log/content-log';
import { withJobContent } from '@gateway/model-service/content-log/job-content';
import { createDiscardedUsage } from '@gateway/model-service/jobs/discarded-usage';
import { listAttempts, type OnAttempt } from '@gateway/model-service/jobs/job-attempts';
import { readStream } from '@gateway/model-service/stream/relayed-stream';
import { usageDetail } from '@gateway/model-service/usage-detail';
import { modelOfJob } from '@gateway/upstream/model-for';
import type { Upstream } from '@gateway/upstream/upstream';
import { estimateSpeech, usageOfDiscarded, usageOfSpeech, withTokensTold } from '../metering/speech-usage.ts';
import { checkedSpeech } from './checked-speech.ts';
import { speechCandidates, streamFormatOf } from './speech-candidates.ts';
import { SPEECH_CONTENT } from './speech-content.ts';
import { checkAudio, inStreamFormat, speechStreamFor } from './speech-request.ts';

interface SpeakOptions {
  readonly upstream: Pick<Upstream, 'resolveModel' | 'candidates' | 'send'>;
  readonly assets: AssetStore;
  readonly checks: TextChecks;
  readonly contentLog: ContentLog;
}

/** The longest input at the lowest speed, without compression, is some 80 MB. */
const MAX_SPEECH_BYTES = 128 * 1024 * 1024;

interface Context
  extends Pick<
    JobContext,
    'jobId' | 'requestId' | 'keyId' | 'team' | 'subject' | 'signal' | 'trace' | 'consumed' | 'noted'
  > {
  readonly onAttempt: OnAttempt;
  /** It has been checked. */
  readonly goesOnWith: (input: SpeechInput) => void;
}

/** How speech is made for a caller who comes back for it: what would have been streamed is stored. */
export const speak = (options: SpeakOptions): JobProcessor<'audio.speech'> => ({
  run: (input, context) =>
    withJobContent(options.contentLog, { input, context, ...SPEECH_CONTENT }, (job, goesOnWith) =>
      listAttempts((onAttempt) => makeSpeech(options, input, { ...job, onAttempt, goesOnWith })),
    ),
  recover: async (input, { jobId, consumed }) => {
    const { upstream, assets } = options;
    const stored = await readOutput({ assets }, jobId);
    if (stored === undefined) return undefined;
    const output = SpeechOutput.parse(stored);
    const { channel, upstreamAttempts: attempts } = output;
    const price = upstream.resolveModel(input.model)?.price ?? null;
    const speech = SpeechRequest.parse({ ...input.parameters, model: input.model });
    consumed({ ...estimateSpeech(price, speech), channel, attempts });
    return output;
  },
});

async function makeSpeech(
  { upstream, assets, checks: textChecks }: SpeakOptions,
  { model: name, parameters, strict = false }: SpeechInput,
  { onAttempt, goesOnWith, ...context }: Context,
): Promise<SpeechOutput> {
  const model = modelOfJob(upstream, name);
  const requested = SpeechRequest.parse({ ...parameters, model: name });
  const { jobId, signal, trace, consumed: report } = context;
  report(null);
  const { speech } = await checkedSpeech(textChecks, requested, requestOfJob(name, context));
  report(undefined);
  if (speech !== requested) goesOnWith({ model: name, parameters: speech });
  const wanted = speech.stream_format ?? 'audio';
  const estimate = estimateSpeech(model.price, speech);
  const discarded = createDiscardedUsage(report);
  const consumed = (usage: ConsumedUsage) => report(discarded.with(usage));
  const reply = await upstream.send({
    candidates: speechCandidates(upstream, model, speech),
    request: (candidate) => ({
      operation: 'speech',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      strict,
      body: JSON.stringify(inStreamFormat(speech, candidate, streamFormatOf(candidate, model, wanted))),
    }),
    checkOutput: checkAudio,
    dialect: 'openai',
    signal,
    trace,
    work: 'paid',
    streamed: true,
    onAttempt,
    onDiscarded: (lost) => {
      const used = usageOfDiscarded(model.price, estimate.consumption, lost);
      if (used !== null) discarded.add(used);
    },
  });
  const channel = reply.candidate.channel.name;
  const upstreamAttempts = reply.attempts.length;
  const detail = usageDetail({ attempts: reply.attempts, dropped: reply.dropped.join(', ') });
  let usage = usageOfSpeech(model.price, estimate, { channel, attempts: upstreamAttempts, detail });
  consumed(usage);
  const onDone = (event: string) => {
    usage = withTokensTold(usage, model.price, event);
    consumed(usage);
  };
  const { stream, contentType } = speechStreamFor(speech, reply, onDone);
  const id = assetId(jobId, 'speech', 'application/octet-stream');
  try {
    const { sizeBytes } = await assets.put(id, bounded(readStream(reply, stream)));
    return {
      assetId: id,
      contentType: contentType(),
      sizeBytes,
      characters: estimate.consumption.characters,
      dropped: [...reply.dropped],
      channel,
      upstreamAttempts,
      costMicroUsd: discarded.with(usage).costMicroUsd,
    };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    // It has been paid for.
    throw new GatewayError(error.code, { ...error.options, retry: false });
  }
}

async function* bounded(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  for await (const chunk of source) {
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_SPEECH_BYTES)
      throw new GatewayError('upstream_failed', {
        message: 'The upstream sent more speech than can be kept.',
        source: 'upstream',
      });
    yield chunk;
  }
}
