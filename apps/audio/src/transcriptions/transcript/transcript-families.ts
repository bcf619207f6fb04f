import type { TranscriptFormat } from '@gateway/contracts/openai/transcriptions';

interface TranscriptFamily {
  readonly models: readonly string[];
  /** The formats that the upstream itself can answer in. */
  readonly formats: readonly TranscriptFormat[];
  /** Whether it sends deltas; one that does not ignores the wish. */
  readonly streams: boolean;
  /** Whether it translates into English. */
  readonly translates: boolean;
  /** The largest file, in bytes, and the longest recording, in seconds; null: no bound is known. */
  readonly maxFileBytes: number | null;
  readonly maxAudioSeconds: number | null;
}

/** OpenAI's, for every model. */
const OPENAI_FILE_BYTES = 26_214_400;
/** Beyond it the models with an audio context answer "longer than 1400 seconds which is the maximum for this model". */
const CONTEXT_SECONDS = 1400;

/** What OpenAI's transcription models answer in, November 2026. A longer name comes before its own beginning. */
export const TRANSCRIPT_FAMILIES: Readonly<Record<string, TranscriptFamily>> = {
  'whisper-1': {
    models: ['whisper-1'],
    formats: ['json', 'text', 'srt', 'verbose_json', 'vtt'],
    streams: false,
    translates: true,
    maxFileBytes: OPENAI_FILE_BYTES,
    maxAudioSeconds: null,
  },
  'gpt-4o-transcribe-diarize': {
    models: ['gpt-4o-transcribe-diarize'],
    formats: ['json', 'text', 'diarized_json'],
    streams: true,
    translates: false,
    maxFileBytes: OPENAI_FILE_BYTES,
    maxAudioSeconds: CONTEXT_SECONDS,
  },
  'gpt-4o-transcribe': {
    models: ['gpt-4o-transcribe', 'gpt-4o-mini-transcribe'],
    formats: ['json', 'text'],
    streams: true,
    translates: false,
    maxFileBytes: OPENAI_FILE_BYTES,
    maxAudioSeconds: CONTEXT_SECONDS,
  },
  'gpt-transcribe': {
    models: ['gpt-transcribe'],
    formats: ['json'],
    streams: true,
    translates: false,
    maxFileBytes: OPENAI_FILE_BYTES,
    maxAudioSeconds: null,
  },
};
