/** Voices that pass for every model of OpenAI's family. */
const CLASSIC_VOICES = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'] as const;

interface SpeechFamily {
  readonly models: readonly string[];
  readonly voices: readonly string[];
  readonly streamFormats: readonly ('audio' | 'sse')[];
}

/** What OpenAI's speech models take, November 2026. */
export const SPEECH_FAMILIES: Readonly<Record<string, SpeechFamily>> = {
  'tts-1': {
    models: ['tts-1'],
    voices: [...CLASSIC_VOICES, 'ash', 'coral', 'sage'],
    streamFormats: ['audio'],
  },
  'gpt-4o-mini-tts': {
    models: ['gpt-4o-mini-tts'],
    voices: [...CLASSIC_VOICES, 'ash', 'ballad', 'coral', 'sage', 'verse', 'marin', 'cedar'],
    streamFormats: ['audio', 'sse'],
  },
};
