import { z } from 'zod';
import { decimal, problem } from '../wire-types.ts';

/** All codes of ISO 639-1, the two-letter ones. */
const ISO_639_1 = new Set(
  (
    'aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el ' +
    'en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ' +
    'iw ja jv jw ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt ' +
    'my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl ' +
    'sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za ' +
    'zh zu'
  ).split(' '),
);

/** Language, then script, region and variants, each optional (RFC 5646 §2.1, without extensions). */
const TAG = /^([a-z]{2,3})(-[a-z]{4})?(-(?:[a-z]{2}|\d{3}))?(-(?:[a-z0-9]{5,8}|\d[a-z0-9]{3}))*$/i;

/**
 * Whether a text is a language of a transcription request: ISO 639-1 (`en`), ISO 639-3 (`yue`) or a BCP 47 tag
 * of them (`zh-Hant-TW`). Two letters must be a code that exists; the thousands of three-letter ones are not listed.
 */
function isLanguageTag(text: string): boolean {
  const language = TAG.exec(text)?.[1]?.toLowerCase();
  return language !== undefined && (language.length === 3 || ISO_639_1.has(language));
}

export const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'] as const;
export const TranscriptFormat = z.enum(TRANSCRIPT_FORMATS);
export type TranscriptFormat = z.infer<typeof TranscriptFormat>;

/** Client libraries return a text only if the type is not JSON. */
const PLAIN_TEXT = 'text/plain; charset=utf-8';

/** The content type of each format's reply. */
export const TRANSCRIPT_CONTENT_TYPES: Readonly<Record<TranscriptFormat, string>> = {
  json: 'application/json',
  verbose_json: 'application/json',
  diarized_json: 'application/json',
  text: PLAIN_TEXT,
  srt: PLAIN_TEXT,
  vtt: PLAIN_TEXT,
};

/** The default format. */
export const DEFAULT_TRANSCRIPT_FORMAT: TranscriptFormat = 'json';

/** Extensions of the accepted audio files, in the order of the error message. */
export const AUDIO_EXTENSIONS = [
  'flac',
  'm4a',
  'mp3',
  'mp4',
  'mpeg',
  'mpga',
  'oga',
  'ogg',
  'wav',
  'webm',
] as const;
export type AudioExtension = (typeof AUDIO_EXTENSIONS)[number];

/** Form parts that may be repeated, with or without `[]` after their names. */
export const TRANSCRIPTION_LIST_PARTS = [
  'timestamp_granularities',
  'include',
  'languages',
  'keywords',
  'known_speaker_names',
  'known_speaker_references',
] as const;

const Language = z.string().superRefine((language, context) => {
  if (isLanguageTag(language)) return;
  const shown = language.slice(0, 35);
  context.addIssue(
    problem([], {
      code: 'invalid_language_format',
      openai: `Invalid language '${shown}'. Language parameter must be specified in ISO-639-1 format, such as 'en' (ISO-639-3 and BCP 47 forms are taken too).`,
      anthropic: `'${shown}' is not a language code`,
    }),
  );
});

const ServerVad = z.looseObject({
  type: z.literal('server_vad'),
  threshold: decimal(0, 1).optional(),
  prefix_padding_ms: z.number().min(0).optional(),
  silence_duration_ms: z.number().min(0).optional(),
});

/**
 * The text parts of `POST /v1/audio/transcriptions`, from the form: list parts as arrays, numbers and booleans as such,
 * empty parts absent. Only the parts that the gateway checks or uses; the parts themselves are passed on unchanged.
 */
export const TranscriptionRequest = z
  .looseObject({
    model: z.string().min(1),
    language: Language.optional(),
    languages: z.array(Language).optional(),
    keywords: z.array(z.string()).optional(),
    prompt: z.string().optional(),
    response_format: TranscriptFormat.optional(),
    temperature: decimal(0, 1).optional(),
    timestamp_granularities: z.array(z.enum(['word', 'segment'])).optional(),
    include: z.array(z.string()).optional(),
    stream: z.boolean().optional(),
    chunking_strategy: z.union([z.literal('auto'), ServerVad]).optional(),
    known_speaker_names: z.array(z.string()).max(4).optional(),
    known_speaker_references: z.array(z.string()).max(4).optional(),
  })
  .superRefine((form, context) => {
    if (form.timestamp_granularities === undefined || form.response_format === 'verbose_json') return;
    context.addIssue(
      problem(['timestamp_granularities'], {
        code: 'invalid_value',
        openai:
          "'timestamp_granularities' is only taken with response_format 'verbose_json'. Ask for 'verbose_json', or leave 'timestamp_granularities' out.",
        anthropic: "only taken with response_format 'verbose_json'",
      }),
    );
  });
export type TranscriptionRequest = z.infer<typeof TranscriptionRequest>;

/** The text parts of `POST /v1/audio/translations`. It is never streamed. */
export const TranslationRequest = z.looseObject({
  model: z.string().min(1),
  prompt: z.string().optional(),
  response_format: z.enum(['json', 'text', 'srt', 'verbose_json', 'vtt']).optional(),
  temperature: decimal(0, 1).optional(),
});
export type TranslationRequest = z.infer<typeof TranslationRequest>;

/**
 * A timed piece of a transcript, from `verbose_json` and `diarized_json`. Limited to the members that are read: start and
 * end in seconds, text.
 */
export const TranscriptSegment = z.looseObject({
  start: z.number().min(0),
  end: z.number().min(0),
  text: z.string(),
});
export type TranscriptSegment = z.infer<typeof TranscriptSegment>;

/** A transcript that an upstream returned as JSON in any format. Limited to the members that rendering needs. */
export const Transcript = z.looseObject({
  text: z.string(),
  segments: z.array(TranscriptSegment).nullish(),
  duration: z.number().nullish(),
  /** In tokens, or `{ type: 'duration', seconds }`. */
  usage: z.record(z.string(), z.unknown()).nullish(),
});
export type Transcript = z.infer<typeof Transcript>;

/** The event that ends a streamed transcript. Limited to the members that are kept. */
export const TranscriptDone = z.looseObject({
  type: z.literal('transcript.text.done'),
  text: z.string(),
  usage: z.record(z.string(), z.unknown()).nullish(),
});
export type TranscriptDone = z.infer<typeof TranscriptDone>;

/** The frames by which Whisper counts `seek`. */
export const SEEK_PER_SECOND = 100;

const SEGMENT_DIGITS = 3;
/** The id of a segment of a transcript with speakers, by its position from 0: `seg_001`. */
export const segmentId = (index: number): string => `seg_${String(index + 1).padStart(SEGMENT_DIGITS, '0')}`;

const LETTERS = 26;
const FIRST_LETTER = 65;
/** What a speaker without a name is called, by its position from 0: A to Z, then AA, AB and so on. */
export const speakerLetter = (index: number): string =>
  (index < LETTERS ? '' : speakerLetter(Math.floor(index / LETTERS) - 1)) +
  String.fromCharCode(FIRST_LETTER + (index % LETTERS));
