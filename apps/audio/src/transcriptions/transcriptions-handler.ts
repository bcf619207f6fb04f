import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { TranscriptionInput, TranscriptionOutput } from '@gateway/contracts/jobs';
import type { Price } from '@gateway/contracts/models/price';
import {
  DEFAULT_TRANSCRIPT_FORMAT,
  TranscriptionRequest,
  TranslationRequest,
} from '@gateway/contracts/openai/transcriptions';
import type { FormRefusal, FormRules } from '@gateway/forms/form-rules';
import { type ReceivedForm, readForm } from '@gateway/forms/read-form';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { answerJob } from '@gateway/model-service/jobs/answer-job';
import { fingerprintOfForm } from '@gateway/model-service/jobs/fingerprint';
import { isStrict, wishesOf } from '@gateway/model-service/jobs/job-wishes';
import {
  type JobService,
  reserveSlot,
  type SubmittedJob,
  submitJob,
} from '@gateway/model-service/jobs/submit-job';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import type { Handler } from '@gateway/service-kit/request/handler';
import { refuseEncoding } from '@gateway/service-kit/request/json-body';
import { contextOf, endedRequest, identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import { modelFor } from '@gateway/upstream/model-for';
import type { Upstream } from '@gateway/upstream/upstream';
import type { AudioJobKind } from '../audio-service.ts';
import { estimateTranscription } from '../metering/transcription-usage.ts';
import { streamJob, writeTranscript } from './answer-job.ts';
import { forwardedName, gatherParts, isAbsent } from './gather-parts.ts';
import { inspectAudio } from './inspect-audio.ts';
import { STREAMED_FORMATS } from './transcript/transcript-events.ts';
import { transcriptPlans } from './transcript/transcript-plans.ts';

const KIND = 'audio.transcription';

interface TranscriptionsOptions extends JobService<AudioJobKind> {
  readonly upstream: Pick<Upstream, 'configuration' | 'resolveModel' | 'candidates'>;
  readonly uploads: UploadStore;
  readonly fileMaxBytes: number;
  readonly maxJsonDepth: number;
  /** See `AUDIO_KEEP_ALIVE_MS`. */
  readonly keepAliveMs: number;
}

/** The two endpoints: what they take, and by which protocol a channel is asked. */
const SCHEMAS = { transcriptions: TranscriptionRequest, translations: TranslationRequest } as const;
type Task = keyof typeof SCHEMAS;

/** `POST /v1/audio/transcriptions` and `/v1/audio/translations`: checks the form, queues the work, and answers when it is done. */
export const transcriptionsHandler = (options: TranscriptionsOptions, task: Task): Handler => {
  const { queue, uploads, fileMaxBytes } = options;
  const rules = transcriptionForm(fileMaxBytes);
  return async (request, response) => {
    const context = contextOf(request);
    const wishes = wishesOf(request);
    await using slot = await reserveSlot(options, { kind: KIND, wishes, request }).catch((error: unknown) => {
      discardRest(request);
      throw error;
    });
    refuseEncoding(request);
    const form = await readForm(request, response, { rules, uploads, discardRest });
    const uploadIds = form.files.map(({ uploadId }) => uploadId);
    let submitted: SubmittedJob<TranscriptionOutput>;
    let streams: boolean;
    let keepAliveMs: number;
    try {
      const { input, price } = await toInput(request, form, { ...options, task });
      const ended = endedRequest(context);
      if (ended) throw ended;
      submitted = await submitJob(options, {
        kind: KIND,
        endpoint: task,
        estimate: estimateTranscription(price, input),
        input,
        slot,
        wishes,
        fingerprint: () => fingerprintOfForm(`${nameOf(task)} ${input.strict}`, form, uploads),
        request,
        response,
      });
      streams = input.stream;
      // Subtitles come whole, whatever was requested.
      keepAliveMs = STREAMED_FORMATS.some((format) => format === input.responseFormat)
        ? options.keepAliveMs
        : 0;
    } catch (error) {
      await uploads.delete(...uploadIds);
      throw error;
    }
    // From here on the file belongs to the job. A job that was there before has its own.
    if (!submitted.isNew) await uploads.delete(...uploadIds);
    if (streams && wishes.waitMs === null) return streamJob({ keepAliveMs, submitted, response, context });
    const write = (output: TranscriptionOutput) => writeTranscript(output, response, context);
    await answerJob({ queue, submitted, request, response, write });
  };
};

/** The form as a job's input, once everything about it has been checked. */
async function toInput(
  request: IncomingMessage,
  { fields, files: [file] }: ReceivedForm,
  { upstream, uploads, maxJsonDepth, task }: TranscriptionsOptions & { readonly task: Task },
): Promise<{ input: TranscriptionInput; price: Price | null }> {
  const { line } = contextOf(request);
  const requested = validate(SCHEMAS[task], gatherParts(fields, maxJsonDepth));
  const model = modelFor(upstream, {
    name: requested.model,
    protocols: [task],
    identity: identityOf(request),
  });
  const responseFormat = requested.response_format ?? DEFAULT_TRANSCRIPT_FORMAT;
  Object.assign(line, { model: model.name, format: responseFormat });
  const translates = task === 'translations';
  // A translation comes whole, whatever was requested.
  const stream = !translates && requested.stream === true;
  transcriptPlans(upstream, model, { format: responseFormat, stream, translates });
  if (file === undefined) throw noFile();
  const { uploadId, fileName: name, sizeBytes } = file;
  const audio = await inspectAudio({ path: uploads.pathOf(uploadId), name, sizeBytes });
  if (audio.durationSeconds !== null) line.audioSeconds = audio.durationSeconds;
  const input: TranscriptionInput = {
    model: model.name,
    file: { uploadId, fileName: audio.name, contentType: audio.contentType, sizeBytes },
    fields: fields
      .filter((part) => !REPLACED.has(part[0]) && !isAbsent(part))
      .map(([part, value]) => [forwardedName(part), value]),
    responseFormat,
    ...(translates && { translates }),
    stream,
    durationSeconds: audio.durationSeconds,
    strict: isStrict(request),
  };
  return { input, price: model.price };
}

/** The work of an idempotency key: a recording that is transcribed is not one that is translated. */
const nameOf = (task: Task): string => (task === 'translations' ? `${KIND} ${task}` : KIND);

/** Parts that each channel is sent in its own way. */
const REPLACED = new Set(['model', 'response_format', 'stream']);

const noFile = () =>
  new GatewayError('missing_required_parameter', {
    path: ['file'],
    message: "Missing required parameter: 'file'.",
  });

/** What the form of one transcription may hold. */
function transcriptionForm(maxFileBytes: number): FormRules {
  const tooLarge: FormRefusal = {
    code: 'file_too_large',
    path: ['file'],
    message: `Maximum content size limit (${maxFileBytes}) exceeded. Send a smaller file, or split it.`,
  };
  return {
    parts: [
      {
        name: 'file',
        names: /^file(?:\[\d*\])?$/,
        most: 1,
        maxBytes: maxFileBytes,
        tooMany: {
          code: 'invalid_value',
          path: ['file'],
          message: "The form has more than one file. Send exactly one, in the part 'file'.",
        },
        tooLarge,
      },
    ],
    fields: 64,
    fieldNameBytes: 200,
    // One known speaker's sample as a data URL fits in.
    fieldBytes: 1_500_000,
    fieldsTotalBytes: 4_000_000,
    tooLarge,
    whereFilesGo: "Send the audio in the part 'file'.",
  };
}
