import type { Simulator } from '@gateway/simulator/start-simulator';

type LedgerRow = ReturnType<Simulator['ledger']>[string];

/** In micro-dollars for a unit, all of them whole: then the cost of many requests is that of their sums, unrounded. */
interface Prices {
  readonly input?: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
  readonly output?: number;
  readonly reasoning?: number;
  readonly image?: number;
  readonly audioSecond?: number;
  readonly character?: number;
  readonly request?: number;
}

interface PricedModel {
  readonly kind: 'text' | 'image' | 'speech' | 'transcription';
  readonly family?: string;
  /** Channel and name there, in the order in which they are tried. */
  readonly routes: readonly (readonly [channel: string, model: string])[];
  readonly prices: Prices;
}

const TOKENS: Prices = { input: 3, cachedInput: 1, cacheWrite: 4, output: 15, reasoning: 20 };

/** By the callers' names. The provider's ledger tells them apart by the name of the last route, which answers. */
export const MODELS: Readonly<Record<string, PricedModel>> = {
  'gpt-5.2': { kind: 'text', routes: [['all', 'gpt-5.2']], prices: { ...TOKENS, request: 100 } },
  claude: { kind: 'text', routes: [['messages', 'claude-sonnet-5-5']], prices: TOKENS },
  local: { kind: 'text', routes: [['chat', 'local-model']], prices: { input: 1, output: 2 } },
  silent: { kind: 'text', routes: [['chat', 'silent-model']], prices: { input: 1, output: 2 } },
  twofold: {
    kind: 'text',
    routes: [
      ['all', 'gpt-first'],
      ['other', 'gpt-second'],
    ],
    prices: TOKENS,
  },
  'dall-e-2': {
    kind: 'image',
    family: 'dall-e-2',
    routes: [['all', 'dall-e-2']],
    prices: { image: 20_000 },
  },
  'dall-e-3': {
    kind: 'image',
    family: 'dall-e-3',
    routes: [['all', 'dall-e-3']],
    prices: { image: 40_000 },
  },
  'twofold-image': {
    kind: 'image',
    family: 'dall-e-2',
    routes: [
      ['all', 'image-first'],
      ['other', 'image-second'],
    ],
    prices: { image: 30_000, request: 7 },
  },
  'gpt-image-1': {
    kind: 'image',
    family: 'gpt-image',
    routes: [['all', 'gpt-image-1']],
    prices: { input: 5, output: 40, image: 1000 },
  },
  'tts-1': { kind: 'speech', routes: [['all', 'tts-1']], prices: { character: 15 } },
  'gpt-4o-mini-tts': {
    kind: 'speech',
    routes: [['all', 'gpt-4o-mini-tts']],
    prices: { input: 1, output: 12 },
  },
  'whisper-1': {
    kind: 'transcription',
    family: 'whisper-1',
    routes: [['all', 'whisper-1']],
    prices: { audioSecond: 100 },
  },
  'gpt-4o-transcribe': {
    kind: 'transcription',
    family: 'gpt-4o-transcribe',
    routes: [['all', 'gpt-4o-transcribe']],
    prices: { input: 3, output: 10, audioSecond: 50 },
  },
};

const BOUNDS = { maxOutputTokens: 500, contextWindow: 2000 };
const USD = 1e-6;

const priceOf = ({ input, cachedInput, cacheWrite, output, reasoning, ...other }: Prices) => ({
  inputPerMTok: input,
  cachedInputPerMTok: cachedInput,
  cacheWritePerMTok: cacheWrite,
  outputPerMTok: output,
  reasoningPerMTok: reasoning,
  perImage: other.image && other.image * USD,
  perMinute: other.audioSecond && (other.audioSecond * 60) / 1e6,
  perMillionChars: other.character,
  perRequest: other.request && other.request * USD,
});

/** JSON is YAML. */
export const pricedConfiguration = (baseUrl: string): string =>
  JSON.stringify({
    channels: {
      all: { provider: 'simulator', baseUrl },
      other: { provider: 'simulator', baseUrl },
      messages: { provider: 'simulator', baseUrl, speaks: ['messages'] },
      chat: { provider: 'simulator', baseUrl, speaks: ['chat'] },
    },
    models: Object.fromEntries(
      Object.entries(MODELS).map(([name, { kind, family, routes, prices }]) => [
        name,
        {
          kind,
          ...(family && { family }),
          ...(kind === 'text' && BOUNDS),
          routes: routes.map(([channel, model], priority) => ({ channel, model, priority })),
          price: priceOf(prices),
        },
      ]),
    ),
  });

const modelOf = (name: string): PricedModel => {
  const model = MODELS[name];
  if (model === undefined) throw new Error(`no model ${name}`);
  return model;
};

/** What the provider calls the model that answers. */
export const nameAtProvider = (name: string): string => modelOf(name).routes.at(-1)?.[1] ?? '';

/** What the provider's figures cost at the configured prices, in micro-dollars. */
export function invoiceOf(name: string, row: LedgerRow): number {
  const { prices } = modelOf(name);
  const { cachedInput = prices.input, cacheWrite = prices.input, reasoning = prices.output } = prices;
  const priced: readonly (readonly [price: number | undefined, amount: number])[] = [
    [prices.input, row.inputTokens - row.cachedInputTokens - row.cacheWriteTokens],
    [cachedInput, row.cachedInputTokens],
    [cacheWrite, row.cacheWriteTokens],
    [prices.output, row.outputTokens - row.reasoningTokens],
    [reasoning, row.reasoningTokens],
    [prices.image, row.images],
    [prices.audioSecond, row.audioSeconds],
    [prices.character, row.characters],
    [prices.request, row.requests],
  ];
  return priced.reduce((sum, [price = 0, amount]) => sum + price * amount, 0);
}

const MAX_CHARACTERS = 200;
const MAX_IMAGES = 2;

/** The most that is reserved for one of these requests, in micro-dollars: no estimate is charged with more. */
export function mostOf(name: string): number {
  const { kind, prices } = modelOf(name);
  const { contextWindow, maxOutputTokens } = BOUNDS;
  const dearest = (...all: (number | undefined)[]) => Math.max(...all.map((price) => price ?? 0));
  const tokens =
    contextWindow * dearest(prices.input, prices.cacheWrite) +
    maxOutputTokens * dearest(prices.output, prices.reasoning);
  return (
    (kind === 'text' ? tokens : 0) +
    MAX_IMAGES * (prices.image ?? 0) +
    MAX_CHARACTERS * (prices.character ?? 0) +
    (prices.request ?? 0)
  );
}
