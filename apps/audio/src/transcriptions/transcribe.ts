import type { TranscriptionOutput } from '@gateway/contracts/jobs';
import {
  TRANSCRIPT_CONTENT_TYPES,
  type TranscriptDone,
  TranscriptFormat,
} from '@gateway/contracts/openai/transcriptions';
import type { JobAct } from '@gateway/jobs/job-act';
import type { UploadStore } from '@gateway/jobs/upload-store';
import { isEventStream } from '@gateway/model-service/stream/is-event-stream';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { checkFirstOutput, type OutputCheck } from '@gateway/upstream/check-first-output';
import type { Reply } from '@gateway/upstream/reply';
import type { Upstream } from '@gateway/upstream/upstream';
import { estimateTranscription, usageOfTranscription } from '../metering/transcription-usage.ts';
import { modelGone } from '../model-gone.ts';
import { relayDeltas } from './relay-deltas.ts';
import { readTranscript } from './render/read-transcript.ts';
import { renderTranscript } from './render/render-transcript.ts';
import { incompatibleFormat, transcriptPlans } from './transcript-plans.ts';
import { upstreamForm } from './upstream-form.ts';

interface TranscribeOptions {
  readonly upstream: Pick<Upstream, 'resolveModel' | 'candidates' | 'send'>;
  readonly uploads: Pick<UploadStore, 'pathOf'>;
}

/** A day of speech is about a million characters; word times multiply that. */
const TRANSCRIPT_MAX_BYTES = 32 * 1024 * 1024;

/** Deltas that were not requested are read for the transcript that they make. */
const unheard = () => Promise.resolve();

/** As every reply is checked, but a text under the content type of JSON is a transcript too: no other request is made for it. */
const checkTranscript: OutputCheck = (first) => {
  const verdict = checkFirstOutput(first);
  const isText = /^\s*[^\s<]/.test(first.bytes.toString('latin1', 0, 128));
  const isJson = first.headers['content-type']?.startsWith('application/json') ?? false;
  return typeof verdict === 'object' && verdict.body === '' && isJson && isText ? 'accept' : verdict;
};

/** How a transcription is done: the same whether its caller waits, listens to its deltas, or comes back later. */
export const transcribe = ({ upstream, uploads }: TranscribeOptions): JobAct<'audio.transcription'> => ({
  run: async (input, { signal, emit, consumed }) => {
    const model = upstream.resolveModel(input.model);
    if (model === null) throw modelGone(input.model);
    const wanted = TranscriptFormat.parse(input.responseFormat);
    const plans = transcriptPlans(upstream, model, wanted);
    const path = uploads.pathOf(input.file.uploadId);

    const reply = await upstream.send({
      candidates: plans.candidates,
      request: (candidate) => {
        const plan = plans.of(candidate);
        const form = upstreamForm({ input, path, model: candidate.model, plan });
        return {
          operation: 'transcriptions',
          method: 'POST',
          headers: { 'content-type': form.contentType },
          body: form,
        };
      },
      dialect: 'openai',
      work: 'free',
      streamed: input.stream,
      checkOutput: checkTranscript,
      signal,
    });
    const { price } = model;
    const channel = reply.candidate.channel.name;
    const attempts = reply.attempts.length;
    // From the first output on it may be billed, whatever becomes of it.
    consumed({ ...estimateTranscription(price, input), channel, attempts });
    const answer = isEventStream(reply.headers)
      ? streamedAnswer(await relayDeltas(reply, input.stream ? emit : unheard), model, wanted)
      : await wholeAnswer(reply, model, { ask: plans.of(reply.candidate).ask, wanted });
    const durationSeconds = input.durationSeconds ?? answer.durationSeconds;
    const usage = usageOfTranscription({
      price,
      recording: input,
      said: answer.usage,
      durationSeconds,
      channel,
      attempts,
    });
    consumed(usage);
    const { costMicroUsd } = usage;
    return { ...answer, durationSeconds, channel, upstreamAttempts: attempts, costMicroUsd };
  },
});

type Answer = Pick<TranscriptionOutput, 'body' | 'contentType' | 'usage' | 'durationSeconds'>;

/** The deltas have been emitted; what is kept is the transcript that they make. */
function streamedAnswer(done: TranscriptDone, model: ResolvedModel, wanted: TranscriptFormat): Answer {
  const { text, usage } = done;
  const body = renderTranscript({
    body: '',
    received: { formats: [], transcript: { text, ...(usage && { usage }) } },
    requested: 'json',
    to: wanted === 'diarized_json' ? 'json' : wanted,
    incompatible: () => incompatibleFormat(model, wanted),
  });
  const contentType = TRANSCRIPT_CONTENT_TYPES[wanted];
  return { body, contentType, usage: usage ?? null, durationSeconds: null };
}

async function wholeAnswer(
  reply: Reply,
  model: ResolvedModel,
  { ask, wanted }: { ask: TranscriptFormat; wanted: TranscriptFormat },
): Promise<Answer> {
  const body = (await reply.bytes(TRANSCRIPT_MAX_BYTES)).toString();
  const received = readTranscript(body, ask);
  const { usage, duration } = received.transcript;
  return {
    body: renderTranscript({
      body,
      received,
      requested: ask,
      to: wanted,
      incompatible: () => incompatibleFormat(model, wanted),
    }),
    contentType: TRANSCRIPT_CONTENT_TYPES[wanted],
    usage: usage ?? null,
    durationSeconds: duration ?? billedSeconds(usage),
  };
}

const billedSeconds = (usage: TranscriptionOutput['usage'] | undefined): number | null =>
  typeof usage?.seconds === 'number' ? usage.seconds : null;
