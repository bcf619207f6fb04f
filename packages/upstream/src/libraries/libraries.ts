import { lookUp } from '@gateway/contracts/look-up';
import type { TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import type { CallFacts, ImageAbilities, Library } from './library.ts';
import { assemblyTurns, deepgramTurns, elevenLabsTurns } from './transcripts/turns.ts';

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const texts = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).flatMap((one) => text(one) ?? []);

/** Members without those that are absent: the libraries' options do not allow undefined. */
const given = <Value>(members: Readonly<Record<string, Value | undefined>>): Record<string, Value> => {
  const present: Record<string, Value> = {};
  for (const [name, value] of Object.entries(members)) if (value !== undefined) present[name] = value;
  return present;
};

const number = (value: unknown): number | undefined => {
  const parsed = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof parsed === 'number' && Number.isFinite(parsed) ? parsed : undefined;
};

const POLL_MS = 500;
const GEMINI_API = 'https://generativelanguage.googleapis.com/v1beta';

const GEMINI_RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'] as const;
const FLUX_RATIOS = [
  '1:1',
  '2:3',
  '3:2',
  '3:4',
  '4:3',
  '4:5',
  '5:4',
  '9:16',
  '16:9',
  '9:21',
  '21:9',
] as const;

type TranscriptFacts = CallFacts & { readonly format: TranscriptFormat };
const wantsSpeakers = ({ format }: TranscriptFacts): boolean => format === 'diarized_json';

const jpegOrPng = ({ members }: CallFacts) =>
  members.output_format === 'jpeg' || members.output_format === 'png' ? members.output_format : undefined;

const GOOGLE = {
  bases: [GEMINI_API],
  images: {
    takes: ['seed'],
    sizes: false,
    ratios: GEMINI_RATIOS,
    imagesPerCall: 1,
    maxInputImages: 16,
    masks: false,
  },
  speech: { takes: ['instructions'], formats: { wav: 'wav', pcm: 'pcm' } },
} as const satisfies Partial<Library>;

/** The signed address is the channel's own. */
const BEDROCK_RUNTIME = 'https://bedrock-runtime.us-east-1.amazonaws.com';

/** OpenAI's qualities as Amazon's two. */
const AMAZON_QUALITIES = {
  low: 'standard',
  medium: 'standard',
  standard: 'standard',
  high: 'premium',
  hd: 'premium',
  xhigh: 'premium',
  max: 'premium',
  premium: 'premium',
} as const;

const AMAZON_IMAGES: ImageAbilities = {
  takes: ['seed', 'quality', 'negative_prompt'],
  sizes: true,
  imagesPerCall: 5,
  maxInputImages: 5,
  masks: false,
  options: ({ members }) => ({
    bedrock: given<string>({
      quality: lookUp<string>(AMAZON_QUALITIES, text(members.quality)),
      negativePrompt: text(members.negative_prompt),
    }),
  }),
};

const STABILITY_IMAGES: ImageAbilities = {
  takes: ['seed', 'negative_prompt', 'output_format'],
  sizes: false,
  ratios: ['16:9', '1:1', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21'],
  imagesPerCall: 1,
  maxInputImages: 1,
  masks: false,
  options: (facts) => ({
    bedrock: given<string>({
      negativePrompt: text(facts.members.negative_prompt),
      outputFormat: jpegOrPng(facts),
    }),
  }),
};

/** Every provider that is called through its own library, November 2026. */
export const LIBRARIES = {
  elevenlabs: {
    bases: ['https://api.elevenlabs.io'],
    load: async (settings) => {
      const { createElevenLabs } = await import('@ai-sdk/elevenlabs');
      const { speech, transcription } = createElevenLabs(settings);
      return { speech, transcription };
    },
    speech: {
      takes: ['speed'],
      formats: { mp3: 'mp3_44100_128', opus: 'opus_48000_64', pcm: 'pcm_24000', wav: 'pcm_24000' },
      wavFromPcm: true,
    },
    transcriptions: {
      takes: ['language'],
      formats: ['json', 'text', 'verbose_json', 'diarized_json'],
      options: (facts) => ({
        elevenlabs: given<string | boolean>({
          languageCode: text(facts.members.language),
          tagAudioEvents: false,
          diarize: wantsSpeakers(facts),
        }),
      }),
      tellsDuration: false,
      turns: elevenLabsTurns,
    },
    errorCodes: { quota_exceeded: 'insufficient_quota', voice_not_found: 'voice_not_found' },
  },
  deepgram: {
    bases: ['https://api.deepgram.com'],
    load: async (settings) => {
      const { createDeepgram } = await import('@ai-sdk/deepgram');
      const { speech, transcription } = createDeepgram(settings);
      return { speech, transcription };
    },
    speech: {
      takes: ['speed'],
      formats: { mp3: 'mp3', opus: 'opus', aac: 'aac', flac: 'flac', wav: 'wav_24000', pcm: 'pcm' },
    },
    transcriptions: {
      takes: ['language'],
      formats: ['json', 'text', 'verbose_json', 'diarized_json'],
      options: (facts) => {
        const language = text(facts.members.language);
        const speakers = wantsSpeakers(facts);
        return {
          deepgram: given<string | boolean>({
            language,
            detectLanguage: language === undefined ? true : undefined,
            punctuate: true,
            smartFormat: true,
            diarize: speakers || undefined,
            utterances: speakers || undefined,
          }),
        };
      },
      tellsDuration: true,
      turns: deepgramTurns,
    },
    errorCodes: { ASR_PAYMENT_REQUIRED: 'insufficient_quota' },
  },
  assemblyai: {
    bases: ['https://api.assemblyai.com'],
    load: async (settings) => {
      const { createAssemblyAI } = await import('@ai-sdk/assemblyai');
      const { transcription } = createAssemblyAI(settings);
      return { transcription };
    },
    transcriptions: {
      takes: ['language', 'prompt', 'temperature', 'keywords'],
      formats: ['json', 'text', 'verbose_json', 'diarized_json'],
      options: (facts) => {
        const { members } = facts;
        const language = text(members.language);
        const keywords = texts(members.keywords);
        return {
          assemblyai: given<string | boolean | number | string[]>({
            languageCode: language,
            languageDetection: language === undefined ? true : undefined,
            prompt: text(members.prompt),
            temperature: number(members.temperature),
            keytermsPrompt: keywords.length > 0 ? keywords : undefined,
            speakerLabels: wantsSpeakers(facts) || undefined,
          }),
        };
      },
      tellsDuration: true,
      turns: assemblyTurns,
    },
    refusedTask: { status: /^error$/, reason: 'error', code: null },
  },
  google: {
    ...GOOGLE,
    load: async (settings) => {
      const { createGoogle } = await import('@ai-sdk/google');
      const { image, speech, transcription } = createGoogle(settings);
      return { image, speech, transcription };
    },
    transcriptions: {
      takes: ['language', 'languages', 'keywords'],
      formats: ['json', 'text', 'verbose_json'],
      options: ({ members, format }) => {
        const languages = [...texts(members.language), ...texts(members.languages)];
        const keywords = texts(members.keywords);
        return {
          google: given<boolean | string[]>({
            languageCodes: languages.length > 0 ? languages : undefined,
            customVocabulary: keywords.length > 0 ? keywords : undefined,
            wordTimestamp: format === 'verbose_json' || undefined,
          }),
        };
      },
      tellsDuration: false,
    },
  },
  // The same protocol below another address, and Imagen, which the Gemini API has no longer.
  vertex: {
    ...GOOGLE,
    load: async (settings) => {
      const { createGoogle } = await import('@ai-sdk/google');
      const { imagen, isImagen } = await import('./imagen.ts');
      const { image, speech } = createGoogle(settings);
      return { image: (id) => (isImagen(id) ? imagen(id, GEMINI_API, settings) : image(id)), speech };
    },
  },
  // InvokeModel, whose form is the maker's.
  bedrock: {
    bases: [BEDROCK_RUNTIME],
    load: async (settings) => {
      const { bedrockImages } = await import('./bedrock-images.ts');
      return { image: (id) => bedrockImages(id, BEDROCK_RUNTIME, settings) };
    },
    images: AMAZON_IMAGES,
    imagesOf: [
      { ids: /stability\.stable-image-core/, abilities: { ...STABILITY_IMAGES, maxInputImages: 0 } },
      { ids: /stability\./, abilities: STABILITY_IMAGES },
    ],
  },
  'black-forest-labs': {
    bases: ['https://api.bfl.ai/v1'],
    siblingHosts: /^api\.[a-z0-9-]+\.bfl\.ai$/,
    load: async (settings) => {
      const { createBlackForestLabs } = await import('@ai-sdk/black-forest-labs');
      const { image } = createBlackForestLabs(settings);
      return { image };
    },
    images: {
      takes: ['seed', 'output_format'],
      sizes: true,
      imagesPerCall: 1,
      maxInputImages: 10,
      masks: true,
      options: (facts) => ({
        blackForestLabs: given<string | number>({
          outputFormat: jpegOrPng(facts),
          pollIntervalMillis: POLL_MS,
          pollTimeoutMillis: facts.timeoutMs,
        }),
      }),
    },
    refusedTask: { status: /Moderated$/, reason: 'status', code: 'moderation_blocked' },
  },
  fal: {
    bases: ['https://fal.run', 'https://queue.fal.run'],
    load: async (settings) => {
      const { createFal } = await import('@ai-sdk/fal');
      const { image } = createFal(settings);
      return { image };
    },
    images: {
      takes: ['seed', 'output_format'],
      sizes: true,
      imagesPerCall: 4,
      maxInputImages: 16,
      masks: true,
      options: (facts) => ({
        fal: given<string | boolean>({
          outputFormat: jpegOrPng(facts),
          useMultipleImages: facts.inputImages > 1 || undefined,
        }),
      }),
    },
  },
  replicate: {
    bases: ['https://api.replicate.com/v1'],
    load: async (settings) => {
      const { createReplicate } = await import('@ai-sdk/replicate');
      const { image } = createReplicate({ ...settings, apiToken: settings.apiKey });
      return { image };
    },
    images: {
      takes: ['seed', 'output_format'],
      sizes: true,
      ratios: FLUX_RATIOS,
      imagesPerCall: 4,
      maxInputImages: 8,
      masks: true,
      options: ({ members, timeoutMs }) => {
        const format = text(members.output_format);
        return {
          replicate: given<string | number>({
            output_format: format === 'jpeg' ? 'jpg' : format,
            pollIntervalMillis: POLL_MS,
            maxPollAttempts: Math.ceil(timeoutMs / POLL_MS),
          }),
        };
      },
    },
    refusedTask: { status: /^(?:failed|canceled)$/, reason: 'error', code: null },
  },
} as const satisfies Record<string, Library>;

export type LibraryName = keyof typeof LIBRARIES;

/** The table again, with every row under its common type. */
export const libraryOf = (name: LibraryName): Library => LIBRARIES[name];
