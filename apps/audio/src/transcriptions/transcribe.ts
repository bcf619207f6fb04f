import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import type { TranscriptionInput, TranscriptionOutput } from '@gateway/contracts/jobs';
import {
  TRANSCRIPT_CONTENT_TYPES,
  type Transcript,
  TranscriptFormat,
} from '@gateway/contracts/openai/transcriptions';
import type { JobProcessor } from '@gateway/jobs/worker/job-processor';
import { withJobContent } from '@gateway/model-service/content-log/job-content';
import { createDiscardedUsage } from '@gateway/model-service/jobs/discarded-usage';
import { listAttempts } from '@gateway/model-service/jobs/job-attempts';
import type { StreamHead } from '@gateway/model-service/jobs/stream-head';
import { usageDetail } from '@gateway/model-service/usage-detail';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { modelOfJob } from '@gateway/upstream/model-for';
import { attemptsHeader } from '@gateway/upstream/replies/attempts-header';
import {
  estimateTranscription,
  usageOfDiscarded,
  usageOfTranscription,
} from '../metering/transcription-usage.ts';
import { type CheckedRecording, checkedRecording, checkedTranscript } from './checked-transcript.ts';
import { type TranscribeOptions, transcribeParts } from './long-audio/transcribe-parts.ts';
import { renderTranscript } from './render/render-transcript.ts';
import {
  receiveTranscript,
  requestTranscript,
  type WholeTranscript,
} from './transcript/request-transcript.ts';
import { deltaFrames, doneFrame, STREAMED_FORMATS } from './transcript/transcript-events.ts';
import {
  fits,
  incompatibleFormat,
  protocolOf,
  type TranscriptPlans,
  transcriptPlans,
} from './transcript/transcript-plans.ts';
import type { Transcription, TranscriptionContext } from './transcript/transcription.ts';
import { TRANSCRIPT_CONTENT } from './transcript-content.ts';

/** The processor of transcriptions. It is the same for a caller who waits, reads deltas, or comes back later. */
export const transcribe = (options: TranscribeOptions): JobProcessor<'audio.transcription'> => ({
  run: (input, context) =>
    withJobContent(options.contentLog, { input, context, ...TRANSCRIPT_CONTENT }, async (job, goesOnWith) => {
      const { checks, checked } = await checkedRecording(options.checks, input, job);
      goesOnWith(checked);
      return listAttempts((onAttempt) => makeTranscript(options, checked, { ...job, checks, onAttempt }));
    }),
  // A provider's library takes whole files.
  bytesOf: (input) => {
    const model = options.upstream.resolveModel(input.model);
    const candidates =
      model === null ? [] : options.upstream.candidates({ model, protocol: protocolOf(input) });
    const isHeld = candidates.some(({ channel }) => channel.library !== null);
    return isHeld ? 2 * input.file.sizeBytes : undefined;
  },
});

async function makeTranscript(
  options: TranscribeOptions,
  input: TranscriptionInput,
  { checks, ...context }: Omit<TranscriptionContext, 'onDiscarded'> & Pick<CheckedRecording, 'checks'>,
): Promise<TranscriptionOutput> {
  const { upstream } = options;
  const isHeld = checks?.holdsOutput ?? false;
  const model = modelOfJob(upstream, input.model);
  const wanted = TranscriptFormat.parse(input.responseFormat);
  const plans = transcriptPlans(upstream, model, {
    ...{ format: wanted, stream: input.stream, translates: input.translates === true },
  });
  const recording = { sizeBytes: input.file.sizeBytes, durationSeconds: input.durationSeconds };
  const candidates = plans.candidates.filter((candidate) => fits(plans.boundsOf(candidate), recording));
  const streams = input.stream && STREAMED_FORMATS.includes(wanted);
  const discarded = createDiscardedUsage(context.consumed);
  const counted: TranscriptionContext = {
    ...context,
    ...(isHeld && { emit: () => Promise.resolve() }),
    consumed: (usage) => context.consumed(usage && discarded.with(usage)),
    onDiscarded: (recorded, reply) => {
      const usage = usageOfDiscarded(model.price, recorded, reply);
      if (usage !== null) discarded.add(usage);
    },
  };
  const done =
    candidates.length > 0
      ? await transcribeWhole(options, { input, model, plans: { ...plans, candidates } }, counted)
      : await transcribeParts(options, { input, model, plans, wanted, streams }, counted);
  const { received: made, requested, channel, attempts, attemptList } = done;
  const translates = input.translates === true;
  const whole = answerOf(made, { model, requested, wanted, translates });
  const durationSeconds = input.durationSeconds ?? done.durationSeconds ?? whole.durationSeconds;
  const { price } = model;
  const usage = discarded.with(
    usageOfTranscription({
      price,
      recording: input,
      reported: whole.usage,
      durationSeconds: done.billedSeconds ?? durationSeconds,
      channel,
      attempts,
      detail: done.detail,
    }),
  );
  context.consumed(usage);
  const received = checks === null ? made : await checkedTranscript(checks, made, wanted);
  const answer = received === made ? whole : answerOf(received, { model, requested, wanted, translates });
  if (streams && (isHeld || !done.isEmitted))
    await emitWhole(
      received.transcript,
      { channel, dropped: [...done.dropped], attemptList, wanted },
      context.emit,
    );
  const { costMicroUsd } = usage;
  return {
    ...answer,
    durationSeconds,
    channel,
    dropped: [...done.dropped],
    ...(done.parts !== null && { parts: done.parts }),
    upstreamAttempts: attempts,
    costMicroUsd,
  };
}

interface WholeFile {
  readonly input: TranscriptionInput;
  readonly model: ResolvedModel;
  readonly plans: TranscriptPlans;
}

async function transcribeWhole(
  { upstream, uploads }: TranscribeOptions,
  { input, model, plans }: WholeFile,
  { signal, trace, emit, consumed, onAttempt, onDiscarded }: TranscriptionContext,
): Promise<Transcription> {
  const path = uploads.pathOf(input.file.uploadId);
  const { candidates, of: planOf } = plans;
  const reply = await requestTranscript({
    ...{ upstream, candidates, planOf, input, path, signal, trace, onAttempt },
    onDiscarded: (discarded) => onDiscarded(input, discarded),
  });
  const channel = reply.candidate.channel.name;
  const attempts = reply.attempts.length;
  const { dropped } = reply;
  const detail = usageDetail({ attempts: reply.attempts, dropped: dropped.join(', ') });
  // From the first output on, the provider may bill it even if it fails.
  consumed({ ...estimateTranscription(model.price, input), channel, attempts, detail });
  const requested = planOf(reply.candidate).requestedFormat;
  const received = await receiveTranscript(reply, {
    requestedFormat: requested,
    ...(input.stream && { emit }),
  });
  const isEmitted = isEventStream(reply.headers);
  return {
    received,
    requested,
    channel,
    attempts,
    detail,
    attemptList: attemptsHeader(reply.attempts) ?? undefined,
    dropped,
    parts: null,
    isEmitted,
    durationSeconds: null,
    billedSeconds: null,
  };
}

type Answer = Pick<TranscriptionOutput, 'body' | 'contentType' | 'usage' | 'durationSeconds'>;

interface AnswerOptions {
  readonly model: ResolvedModel;
  readonly requested: TranscriptFormat;
  readonly wanted: TranscriptFormat;
  readonly translates: boolean;
}

function answerOf(
  received: WholeTranscript,
  { model, requested, wanted, translates }: AnswerOptions,
): Answer {
  const { usage, duration } = received.transcript;
  const isStream = received.formats.length === 0 && received.body === '';
  return {
    body: renderTranscript({
      body: received.body,
      received,
      requested,
      // The deltas have been emitted; what is kept is the text that they make.
      to: isStream && wanted === 'diarized_json' ? 'json' : wanted,
      incompatible: () => incompatibleFormat(model, wanted, translates),
    }),
    contentType: TRANSCRIPT_CONTENT_TYPES[wanted],
    usage: usage ?? null,
    durationSeconds: duration ?? billedSeconds(usage),
  };
}

/** A stream for a caller who requested one, made of a transcript that came whole. */
async function emitWhole(
  transcript: Transcript,
  { wanted, ...head }: StreamHead & { readonly wanted: TranscriptFormat },
  emit: TranscriptionContext['emit'],
): Promise<void> {
  await emit(JSON.stringify(head), ...deltaFrames(transcript, wanted), doneFrame(transcript));
}

const billedSeconds = (usage: TranscriptionOutput['usage'] | undefined): number | null =>
  typeof usage?.seconds === 'number' ? usage.seconds : null;
