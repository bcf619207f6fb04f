import ffmpeg from '@ffmpeg-installer/ffmpeg';
import { openHooks } from '@gateway/hooks/open-hooks';
import { createTextChecks } from '@gateway/hooks/text-checks';
import { createClientSecrets } from '@gateway/metering/keys/client-secret';
import { batchProcessors } from '@gateway/model-service/batch/open-batch-runner';
import { startMedia } from '@gateway/model-service/testing/start-media';
import { createMetrics } from '@gateway/service-kit/metrics';
import type { Upstream } from '@gateway/upstream/upstream';
import OpenAI from 'openai';
import { createAudioService } from '../app.ts';
import { audioBatches } from '../audio-batches.ts';
import { audioProcessors } from '../open-worker.ts';
import type { LongAudio } from '../transcriptions/long-audio/transcribe-parts.ts';

/** Two channels to the stand-in provider, under keys of their own. */
const CONFIGURATION = (url: string) => `
channels:
  one: { provider: simulator, baseUrl: "${url}", apiKey: sk-one }
  two: { provider: simulator, baseUrl: "${url}", apiKey: sk-two }
  eleven: { provider: elevenlabs, baseUrl: "${url}", apiKey: sk-secret-of-elevenlabs }
  deepgram: { provider: deepgram, baseUrl: "${url}", apiKey: sk-secret-of-deepgram }
  google: { provider: google, baseUrl: "${url}/v1beta", apiKey: sk-secret-of-google }
models:
  eleven-voice: { kind: speech, price: { perMillionChars: 100 }, routes: [{ channel: eleven, model: eleven_multilingual_v2 }] }
  gemini-voice: { kind: speech, price: { outputPerMTok: 10 }, routes: [{ channel: google, model: gemini-2.5-flash-preview-tts }] }
  scribe: { kind: transcription, routes: [{ channel: eleven, model: scribe_v2 }] }
  nova: { kind: transcription, price: { perMinute: 0.006 }, routes: [{ channel: deepgram, model: nova-3 }] }
  tts-1: { kind: speech, price: { perMillionChars: 15 }, routes: [{ channel: one }] }
  gpt-4o-mini-tts: { kind: speech, price: { perMillionChars: 12, outputPerMTok: 12 }, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  renamed-tts: { kind: speech, routes: [{ channel: one, model: gpt-4o-mini-tts }] }
  own-voices: { kind: speech, routes: [{ channel: one, model: parler, voices: [anna, ben] }] }
  more-voices: { kind: speech, routes: [{ channel: one, model: tts-1, voices: [anna] }] }
  events-only: { kind: speech, price: { outputPerMTok: 12 }, routes: [{ channel: one, streamFormats: [sse] }] }
  kokoro: { kind: speech, routes: [{ channel: one }] }
  whisper-1: { kind: transcription, price: { perMinute: 0.006 }, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  gpt-4o-transcribe: { kind: transcription, price: { inputPerMTok: 2.5, outputPerMTok: 10 }, routes: [{ channel: one }] }
  gpt-transcribe: { kind: transcription, routes: [{ channel: one }] }
  gpt-4o-transcribe-diarize: { kind: transcription, routes: [{ channel: one }] }
  any-whisper: { kind: transcription, routes: [{ channel: one }] }
  verbose-only: { kind: transcription, routes: [{ channel: one, model: whisper-1, formats: [verbose_json] }] }
  short-whisper: { kind: transcription, price: { perMinute: 0.006 }, routes: [{ channel: one, model: whisper-1, maxAudioSeconds: 4 }] }
  small-whisper: { kind: transcription, routes: [{ channel: one, model: whisper-1, maxFileBytes: 148384 }] }
  short-4o: { kind: transcription, price: { inputPerMTok: 2.5, outputPerMTok: 10 }, routes: [{ channel: one, model: gpt-4o-transcribe, maxAudioSeconds: 4 }] }
  short-diarize: { kind: transcription, routes: [{ channel: one, model: gpt-4o-transcribe-diarize, maxAudioSeconds: 4 }] }
  short-then-long: { kind: transcription, routes: [{ channel: one, model: whisper-1, maxAudioSeconds: 4 }, { channel: two, model: whisper-1, priority: 1 }] }
  own-parakeet: { kind: transcription, routes: [{ channel: one, formats: [json, text] }] }
  chat-model: { kind: text, routes: [{ channel: one }] }
`;

interface StartOptions {
  readonly fileMaxBytes?: number;
  readonly maxWaiting?: number;
  readonly keepAliveMs?: number;
  readonly longAudio?: LongAudio;
  /** By the address of the stand-in provider. */
  readonly configuration?: (url: string) => string;
}

export const LONG_AUDIO: LongAudio = {
  ffmpeg: { program: ffmpeg.path, searchPath: '' },
  maxSeconds: 60,
  partsAtOnce: 2,
};

export type TestAudio = Awaited<ReturnType<typeof startAudio>>;

/** The audio service and, if wanted, its worker, in this process, before a stand-in provider and a real Redis. */
export async function startAudio({
  fileMaxBytes = 26_214_400,
  maxWaiting = 1000,
  keepAliveMs = 0,
  longAudio = LONG_AUDIO,
  configuration = CONFIGURATION,
}: StartOptions = {}) {
  const hooks = openHooks({
    metrics: createMetrics('hooks'),
    onProblem: () => undefined,
    onReported: () => undefined,
  });
  const checksOf = (upstream: Upstream) =>
    createTextChecks({ hooks, configuration: () => upstream.configuration, onRefused: () => undefined });
  const clientSecrets = createClientSecrets({ gatewaySecret: 'unused', now: Date.now });
  const settings = { jsonMaxBytes: 1_000_000, maxJsonDepth: 128, fileMaxBytes, keepAliveMs, clientSecrets };
  const media = await startMedia({
    name: 'audio',
    kinds: ['audio.transcription', 'audio.speech', 'audio.batch'],
    maxWaiting,
    configuration,
    service: (parts) => createAudioService({ ...parts, ...settings, checks: checksOf(parts.upstream) }),
    batchProcessors: (parts) =>
      batchProcessors(audioBatches({ ...parts, ...settings, checks: checksOf(parts.upstream) })),
    processors: (parts) => audioProcessors({ ...parts, longAudio, checks: checksOf(parts.upstream) }),
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

export const TRANSCRIPTIONS_PATH = '/v1/audio/transcriptions';

/** Requests a transcript with these parts of the form, in their order. */
export function postTranscription(
  audio: TestAudio,
  parts: readonly (readonly [string, string | File])[],
  init: RequestInit = {},
): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of parts) form.append(name, value);
  return fetch(`${audio.url}${TRANSCRIPTIONS_PATH}`, {
    method: 'POST',
    body: form,
    headers: audio.headersFor(),
    ...init,
  });
}
