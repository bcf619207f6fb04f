import { startMedia } from '@gateway/model-service/testing/start-media';
import OpenAI from 'openai';
import { createAudioService } from '../app.ts';
import { transcribe } from '../transcriptions/transcribe.ts';

/** Two channels to the stand-in provider, under keys of their own. */
const CONFIGURATION = (url: string) => `
channels:
  one: { provider: simulator, baseUrl: "${url}", apiKey: sk-one }
  two: { provider: simulator, baseUrl: "${url}", apiKey: sk-two }
models:
  tts-1: { kind: speech, price: { perMillionChars: 15 }, routes: [{ channel: one }] }
  gpt-4o-mini-tts: { kind: speech, price: { perMillionChars: 12, outputPerMTok: 12 }, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  renamed-tts: { kind: speech, routes: [{ channel: one, model: gpt-4o-mini-tts }] }
  own-voices: { kind: speech, routes: [{ channel: one, model: parler, voices: [anna, ben] }] }
  more-voices: { kind: speech, routes: [{ channel: one, model: tts-1, voices: [anna] }] }
  kokoro: { kind: speech, routes: [{ channel: one }] }
  whisper-1: { kind: transcription, price: { perMinute: 0.006 }, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  gpt-4o-transcribe: { kind: transcription, price: { inputPerMTok: 2.5, outputPerMTok: 10 }, routes: [{ channel: one }] }
  gpt-transcribe: { kind: transcription, routes: [{ channel: one }] }
  gpt-4o-transcribe-diarize: { kind: transcription, routes: [{ channel: one }] }
  any-whisper: { kind: transcription, routes: [{ channel: one }] }
  verbose-only: { kind: transcription, routes: [{ channel: one, model: whisper-1, formats: [verbose_json] }] }
  own-parakeet: { kind: transcription, routes: [{ channel: one, formats: [json, text] }] }
  chat-model: { kind: text, routes: [{ channel: one }] }
`;

export type TestAudio = Awaited<ReturnType<typeof startAudio>>;

/** The audio service and, if wanted, its worker, in this process, before a stand-in provider and a real Redis. */
export async function startAudio({ fileMaxBytes = 26_214_400, maxWaiting = 1000 } = {}) {
  const media = await startMedia({
    name: 'audio',
    kinds: ['audio.transcription'],
    maxWaiting,
    configuration: CONFIGURATION,
    service: (parts) =>
      createAudioService({ ...parts, jsonMaxBytes: 1_000_000, maxJsonDepth: 128, fileMaxBytes }),
    acts: (parts) => ({ 'audio.transcription': transcribe(parts) }),
  });
  return {
    ...media,
    /** The official client, as the edge would pass its requests on. */
    openai: new OpenAI({
      apiKey: 'sk-unused',
      baseURL: `${media.url}/v1`,
      maxRetries: 0,
      defaultHeaders: media.headersFor(),
    }),
  };
}
