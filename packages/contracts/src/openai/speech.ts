import { z } from 'zod';
import { characters, decimal } from '../wire-types.ts';

/** Each format of speech, and its content type. */
export const SPEECH_CONTENT_TYPES = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
} as const;
export type SpeechFormat = keyof typeof SPEECH_CONTENT_TYPES;

export const SpeechFormat = z.enum(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']);

/** The default format. */
export const DEFAULT_SPEECH_FORMAT: SpeechFormat = 'mp3';

/** Characters of `input` and of `instructions`, as code points. */
const SPEECH_TEXT_MAX_CHARACTERS = 4096;

/** A voice that the provider made for the caller. */
const CustomVoice = z.looseObject({ id: z.string().min(1) });

/** `POST /v1/audio/speech`. Only the members that the gateway checks or uses; all others pass unchanged. */
export const SpeechRequest = z.looseObject({
  model: z.string().min(1),
  input: characters(1, SPEECH_TEXT_MAX_CHARACTERS),
  /** The names that a model has are data of its family or its route, not of the protocol. */
  voice: z.union([z.string().min(1), CustomVoice]),
  instructions: characters(0, SPEECH_TEXT_MAX_CHARACTERS).nullish(),
  response_format: SpeechFormat.nullish(),
  speed: decimal(0.25, 4).nullish(),
  stream_format: z.enum(['audio', 'sse']).nullish(),
});
export type SpeechRequest = z.infer<typeof SpeechRequest>;
