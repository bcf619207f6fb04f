import { parseBuffer } from 'music-metadata';
import { readForm } from '../checks/read-form.ts';
import { asText, type JsonObject } from '../json-value.ts';
import type { LedgerEntry } from '../ledger.ts';
import { invalidRequest } from '../replies/provider-error.ts';
import { dataFrame, jsonReply, type Reply, streamReply } from '../replies/reply.ts';
import type { Call, Handler } from '../requests/call.ts';
import { countTokens, splitWords } from '../tokens.ts';
import {
  renderDiarized,
  renderSrt,
  renderText,
  renderVerbose,
  renderVtt,
  speakerSegments,
} from './render-transcript.ts';
import { type Transcript, transcriptOf } from './transcript.ts';
import { readTranscriptionRequest, type TranscriptionRequest } from './transcription-request.ts';

const FORMATS = ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm'];
const MIN_SECONDS = 0.1;
/** For recordings without a length in their container (a browser's WebM). */
const GUESSED_BYTES_PER_SECOND = 4000;

const EXTENSION = /\.([a-z0-9]+)$/i;

const undecodable = () =>
  invalidRequest(
    'The audio file could not be decoded or its format is not supported.',
    'invalid_value',
    'file',
  );

/**
 * Seconds of sound in an uploaded file, from its own headers.
 * @throws ProviderError 400 for another format, for a file without sound, and for less than a tenth of a second
 */
const audioDuration = async (file: File): Promise<number> => {
  const extension = EXTENSION.exec(file.name)?.[1]?.toLowerCase();
  if (extension && !FORMATS.includes(extension)) {
    const listed = FORMATS.map((format) => `'${format}'`).join(', ');
    throw invalidRequest(`Invalid file format. Supported formats: [${listed}]`, null, 'file');
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  const metadata = await parseBuffer(bytes, { size: bytes.length }, { duration: true }).catch(() => null);
  if (!metadata?.format.container) throw undecodable();
  const seconds = metadata.format.duration ?? bytes.length / GUESSED_BYTES_PER_SECOND;
  if (seconds >= MIN_SECONDS) return Math.round(seconds * 1000) / 1000;
  throw invalidRequest(
    `Audio file is too short. Minimum audio length is ${MIN_SECONDS} seconds.`,
    'audio_too_short',
    'file',
  );
};

const AUDIO_TOKENS_PER_SECOND = 10;
const BILLED_BY_DURATION = /^whisper|-diarize/;

const usageOf = ({ model, prompt }: TranscriptionRequest, transcript: Transcript): JsonObject => {
  if (BILLED_BY_DURATION.test(model))
    return { type: 'duration', seconds: Math.ceil(transcript.durationSeconds) };
  const text_tokens = countTokens(prompt);
  const audio_tokens = Math.ceil(transcript.durationSeconds * AUDIO_TOKENS_PER_SECOND);
  const output_tokens = countTokens(transcript.text);
  return {
    type: 'tokens',
    input_tokens: text_tokens + audio_tokens,
    input_token_details: { text_tokens, audio_tokens },
    output_tokens,
    total_tokens: text_tokens + audio_tokens + output_tokens,
  };
};

const ledgerOf = (model: string, transcript: Transcript, usage: JsonObject): LedgerEntry => ({
  model,
  audioSeconds: Math.ceil(transcript.durationSeconds),
  ...(usage.type === 'tokens' && {
    inputTokens: Number(usage.input_tokens),
    outputTokens: Number(usage.output_tokens),
  }),
});

const languageNames = new Intl.DisplayNames('en', { type: 'language' });

const languageName = (code: string | null): string =>
  (languageNames.of(code?.split('-')[0] ?? 'en') ?? 'english').toLowerCase();

const logprobsOf = (text: string): JsonObject[] =>
  splitWords(text).map((token) => ({ token, logprob: -0.1, bytes: [...Buffer.from(token)] }));

function* transcriptEvents(
  request: TranscriptionRequest,
  transcript: Transcript,
  usage: JsonObject,
): Generator<string> {
  const segments = request.format === 'diarized_json' ? speakerSegments(transcript, request.speakers) : [];
  if (segments.length > 0) {
    for (const segment of segments) {
      yield dataFrame({
        type: 'transcript.text.delta',
        delta: `${asText(segment.text)} `,
        segment_id: segment.id,
      });
      yield dataFrame(segment);
    }
  } else {
    for (const delta of splitWords(transcript.text)) {
      const logprobs = request.withLogprobs ? { logprobs: logprobsOf(delta) } : {};
      yield dataFrame({ type: 'transcript.text.delta', delta, ...logprobs });
    }
  }
  const logprobs = request.withLogprobs ? { logprobs: logprobsOf(transcript.text) } : {};
  yield dataFrame({ type: 'transcript.text.done', text: transcript.text, ...logprobs, usage });
}

const textReply = (body: string, ledger: LedgerEntry): Reply => ({
  status: 200,
  contentType: 'text/plain; charset=utf-8',
  chunks: [body],
  isStream: false,
  ledger,
});

/** `POST /v1/audio/transcriptions` */
export const createTranscription: Handler = async (call) => written(call, await readForm(call), 'transcribe');

/** `POST /v1/audio/translations`: all speech is English already. Only Whisper does it. */
export const createTranslation: Handler = async (call) => {
  const form = await readForm(call);
  const model = asText(form.get('model'));
  if (/^gpt-/.test(model))
    throw invalidRequest(`The model '${model}' does not support translations.`, null, 'model');
  for (const name of ['language', 'stream']) form.delete(name);
  return written(call, form, 'translate');
};

async function written(call: Call, form: FormData, task: 'transcribe' | 'translate'): Promise<Reply> {
  call.applyDirectives(asText(form.get('prompt')), asText(form.get('model')));
  const request = readTranscriptionRequest(form);
  const transcript = transcriptOf(await audioDuration(request.file));
  const usage = usageOf(request, transcript);
  const ledger = ledgerOf(request.model, transcript, usage);
  if (request.streams) return streamReply(transcriptEvents(request, transcript, usage), { ledger });

  switch (call.wish().transcriptFormat ?? request.format) {
    case 'text':
      return textReply(renderText(transcript), ledger);
    case 'srt':
      return textReply(renderSrt(transcript), ledger);
    case 'vtt':
      return textReply(renderVtt(transcript), ledger);
    case 'verbose_json': {
      const { temperature, granularities } = request;
      const language = languageName(request.language);
      return jsonReply(
        renderVerbose(transcript, { task, language, temperature, granularities, usage }),
        ledger,
      );
    }
    case 'diarized_json':
      return jsonReply(renderDiarized(transcript, request.speakers, usage), ledger);
    default: {
      const logprobs = request.withLogprobs ? { logprobs: logprobsOf(transcript.text) } : {};
      return jsonReply({ text: transcript.text, ...logprobs, usage }, ledger);
    }
  }
}
