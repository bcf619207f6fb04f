import { checkOpenAi, missingParameter, unsupportedChoice } from '../checks/check-openai.ts';
import { typedFields } from '../checks/read-form.ts';
import type { Rules } from '../checks/rule.ts';
import { asNumber, asText, isGiven } from '../json-value.ts';
import { checkModelExists } from '../models/list-models.ts';
import { invalidRequest, ProviderError } from '../replies/provider-error.ts';

const FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'] as const;
export type TranscriptFormat = (typeof FORMATS)[number];

/** Response formats by model; the first row that matches counts. */
const FORMATS_BY_MODEL: readonly { models: RegExp; formats: readonly TranscriptFormat[] }[] = [
  { models: /-diarize/, formats: ['json', 'text', 'diarized_json'] },
  { models: /^gpt-4o-(mini-)?transcribe/, formats: ['json', 'text'] },
  { models: /^gpt-transcribe/, formats: ['json'] },
  { models: /./, formats: ['json', 'text', 'srt', 'verbose_json', 'vtt'] },
];

const MAX_FILE_BYTES = 26_214_400;

const RULES: Rules = {
  model: { kind: 'string', required: true, min: 1 },
  language: { kind: 'string' },
  prompt: { kind: 'string' },
  response_format: { kind: 'string' },
  temperature: { kind: 'decimal', min: 0, max: 1 },
  stream: { kind: 'boolean' },
};

const LANGUAGE_TAG = /^[a-z]{2,3}(-[a-z0-9]{2,8})*$/i;

export interface TranscriptionRequest {
  readonly model: string;
  readonly file: File;
  readonly format: TranscriptFormat;
  /** ISO 639 code as sent; null leaves it to the model. */
  readonly language: string | null;
  readonly prompt: string;
  readonly temperature: number;
  readonly granularities: readonly string[];
  readonly speakers: readonly string[];
  readonly withLogprobs: boolean;
  readonly streams: boolean;
}

const textsOf = (form: FormData, name: string): string[] =>
  [...form.getAll(`${name}[]`), ...form.getAll(name)]
    .filter((value) => typeof value === 'string' && value !== '')
    .map(String);

const checkFile = (file: ReturnType<FormData['get']>): File => {
  if (!(file instanceof File)) throw missingParameter('file');
  if (file.size <= MAX_FILE_BYTES) return file;
  throw new ProviderError({
    status: 413,
    message: `Maximum content size limit (${MAX_FILE_BYTES}) exceeded (${file.size} bytes read)`,
    type: 'server_error',
    code: null,
  });
};

const formatOf = (value: unknown, model: string): TranscriptFormat => {
  const name = isGiven(value) ? asText(value) : 'json';
  const format = FORMATS.find((known) => known === name);
  if (!format) throw unsupportedChoice('response_format', name, FORMATS);
  const allowed = FORMATS_BY_MODEL.find(({ models }) => models.test(model))?.formats ?? [];
  if (allowed.includes(format)) return format;
  const hint = allowed.includes('text') ? "'json' or 'text'" : "'json'";
  throw invalidRequest(
    `response_format '${format}' is not compatible with model '${model}'. Use ${hint} instead.`,
    'unsupported_value',
    'response_format',
  );
};

/**
 * Checks a transcription's form.
 * @throws ProviderError 400, 404 for a model that does not exist, 413 for a file above 25 MB
 */
export const readTranscriptionRequest = (form: FormData): TranscriptionRequest => {
  const fields = typedFields(form, { temperature: 'number', stream: 'boolean' });
  const file = checkFile(form.get('file'));
  checkOpenAi(fields, RULES);
  const model = asText(fields.model);
  checkModelExists(model);
  const format = formatOf(fields.response_format, model);
  const language = isGiven(fields.language) ? asText(fields.language) : null;
  if (language !== null && !LANGUAGE_TAG.test(language)) {
    throw invalidRequest(
      `Invalid language '${language}'. Language parameter must be specified in ISO-639-1 format.`,
      'invalid_language_format',
      'language',
    );
  }
  const granularities = textsOf(form, 'timestamp_granularities');
  if (granularities.length > 0 && format !== 'verbose_json') {
    throw invalidRequest(
      "timestamp_granularities requires response_format 'verbose_json'.",
      'invalid_value',
      'timestamp_granularities',
    );
  }
  return {
    model,
    file,
    format,
    language,
    prompt: asText(fields.prompt),
    temperature: asNumber(fields.temperature) ?? 0,
    granularities: granularities.length > 0 ? granularities : ['segment'],
    speakers: textsOf(form, 'known_speaker_names'),
    withLogprobs: textsOf(form, 'include').includes('logprobs'),
    streams: fields.stream === true && model !== 'whisper-1',
  };
};
