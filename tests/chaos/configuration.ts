import { createPrng } from './prng.ts';

/** Where each provider is. */
export interface ProviderUrls {
  readonly first: string;
  readonly second: string;
  readonly last: string;
}

const SPEAKS = {
  '': ['responses', 'images', 'speech', 'transcriptions', 'realtime'],
  '-messages': ['messages'],
  '-chat': ['chat'],
} as const;

/** Shorter than the pauses of a provider that falls silent, longer than those of one that is slow, on a busy machine too. */
const TIMEOUTS = { connectMs: 5000, firstOutputMs: 8000, idleMs: 5000 };

const PRICES = {
  text: { inputPerMTok: 3, outputPerMTok: 15 },
  image: { perImage: 0.02 },
  speech: { perMillionChars: 15 },
  transcription: { perMinute: 0.006 },
  realtime: { inputPerMTok: 4, outputPerMTok: 16, audioOutputPerMTok: 64 },
} as const;

const FAMILIES: Readonly<Record<string, string>> = {
  'dall-e-2': 'dall-e-2',
  'gpt-image-1': 'gpt-image',
  'whisper-1': 'whisper-1',
  'gpt-4o-transcribe': 'gpt-4o-transcribe',
};

/** The channel at the first, second and last provider of each model. */
const MODELS: Readonly<
  Record<string, { kind: keyof typeof PRICES; channels: readonly [string, string, string] }>
> = {
  'over-responses': { kind: 'text', channels: ['', '', ''] },
  'over-messages': { kind: 'text', channels: ['-messages', '-messages', '-messages'] },
  'over-chat': { kind: 'text', channels: ['-chat', '-chat', '-chat'] },
  mixed: { kind: 'text', channels: ['', '-messages', '-chat'] },
  'dall-e-2': { kind: 'image', channels: ['', '', ''] },
  'gpt-image-1': { kind: 'image', channels: ['', '', ''] },
  'tts-1': { kind: 'speech', channels: ['', '', ''] },
  'whisper-1': { kind: 'transcription', channels: ['', '', ''] },
  'gpt-4o-transcribe': { kind: 'transcription', channels: ['', '', ''] },
  'gpt-realtime': { kind: 'realtime', channels: ['', '', ''] },
};

const NOT_USABLE = 'channels: { first: { provider: nobody-knows-it } }\nmodels: [';

/**
 * Every variant means the same for a caller: it differs in the order and the weights in which providers are asked. JSON is YAML.
 */
export function chaosConfiguration(urls: ProviderUrls, variant: number): string {
  const prng = createPrng(`configuration ${variant}`);
  const channels = Object.entries(urls).flatMap(([provider, origin]) =>
    Object.entries(SPEAKS).map(([suffix, speaks]) => [
      `${provider}${suffix}`,
      {
        provider: 'simulator',
        baseUrl: origin,
        apiKey: `key-of-${provider}`,
        speaks,
        ...(provider === 'last' ? {} : { timeouts: TIMEOUTS }),
      },
    ]),
  );
  const secondPriority = prng.between(0, 1);
  const models = Object.entries(MODELS).map(([name, { kind, channels: suffixes }]) => {
    const [first, second, last] = suffixes;
    return [
      name,
      {
        kind,
        ...(FAMILIES[name] === undefined ? {} : { family: FAMILIES[name] }),
        ...(kind === 'text' ? { maxOutputTokens: 4000, contextWindow: 20_000 } : {}),
        price: PRICES[kind],
        routes: [
          { channel: `first${first}`, priority: 0, weight: prng.between(1, 5), ...routed(name) },
          {
            channel: `second${second}`,
            priority: secondPriority,
            weight: prng.between(1, 5),
            ...routed(name),
          },
          { channel: `last${last}`, priority: 2, ...routed(name) },
        ],
      },
    ];
  });
  return JSON.stringify(
    { channels: Object.fromEntries(channels), models: Object.fromEntries(models) },
    null,
    1,
  );
}

/** A provider knows text models by names of its own. */
const routed = (name: string) => (MODELS[name]?.kind === 'text' ? { model: `upstream-${name}` } : {});

/** A file that the gateway must refuse, and go on as before. */
export const unusableConfiguration = (): string => NOT_USABLE;
