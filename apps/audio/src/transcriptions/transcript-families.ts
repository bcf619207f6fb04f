import type { TranscriptFormat } from '@gateway/contracts/openai/transcriptions';

interface TranscriptFamily {
  readonly models: readonly string[];
  /** The formats that the upstream itself can answer in. */
  readonly formats: readonly TranscriptFormat[];
  /** Whether it sends deltas; one that does not ignores the wish. */
  readonly streams: boolean;
}

/** What OpenAI's transcription models answer in, November 2026. The longer names stand before those that begin them. */
export const TRANSCRIPT_FAMILIES: Readonly<Record<string, TranscriptFamily>> = {
  'whisper-1': {
    models: ['whisper-1'],
    formats: ['json', 'text', 'srt', 'verbose_json', 'vtt'],
    streams: false,
  },
  'gpt-4o-transcribe-diarize': {
    models: ['gpt-4o-transcribe-diarize'],
    formats: ['json', 'text', 'diarized_json'],
    streams: true,
  },
  'gpt-4o-transcribe': {
    models: ['gpt-4o-transcribe', 'gpt-4o-mini-transcribe'],
    formats: ['json', 'text'],
    streams: true,
  },
  'gpt-transcribe': { models: ['gpt-transcribe'], formats: ['json'], streams: true },
};
