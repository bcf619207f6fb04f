import type { ModelKind } from '../../protocol.ts';

/** Families whose rules the services hold as data. An image family can also be given in the configuration. */
export const FAMILIES: Readonly<Record<ModelKind, readonly string[]>> = {
  text: [],
  image: ['dall-e-2', 'dall-e-3', 'gpt-image'],
  speech: ['tts-1', 'gpt-4o-mini-tts'],
  transcription: ['whisper-1', 'gpt-4o-transcribe', 'gpt-transcribe', 'gpt-4o-transcribe-diarize'],
};
