import type { Price } from '@gateway/contracts/models/price';
import { type Consumption, NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { costMicroUsd, mostMicroUsd, type Tariff } from './cost.ts';
import { mostToolCalls } from './most-tool-calls.ts';

const tokens = {
  inputTokens: 1000,
  cachedInputTokens: 400,
  cacheWriteTokens: 100,
  outputTokens: 300,
  reasoningTokens: 200,
};

const CASES: readonly [name: string, Price, Partial<Consumption>, number, Tariff?][] = [
  ['nothing', {}, tokens, 0],
  [
    'input and output',
    { inputPerMTok: 1.25, outputPerMTok: 10 },
    { inputTokens: 1000, outputTokens: 300 },
    4250,
  ],
  [
    'each kind of token once, at its own price',
    {
      inputPerMTok: 1,
      cachedInputPerMTok: 0.1,
      cacheWritePerMTok: 2,
      outputPerMTok: 10,
      reasoningPerMTok: 20,
    },
    tokens,
    500 + 40 + 200 + 1000 + 4000,
  ],
  [
    'kinds without a price of their own at the plain price',
    { inputPerMTok: 1, outputPerMTok: 10 },
    tokens,
    4000,
  ],
  [
    'sound and text apart, cached or not',
    {
      inputPerMTok: 4,
      cachedInputPerMTok: 0.5,
      outputPerMTok: 16,
      audioInputPerMTok: 32,
      cachedAudioInputPerMTok: 0.25,
      audioOutputPerMTok: 64,
    },
    {
      ...{ inputTokens: 1000, cachedInputTokens: 600, audioInputTokens: 700, cachedAudioTokens: 400 },
      ...{ outputTokens: 300, audioOutputTokens: 200 },
    },
    // 100 of text, 200 of it cached, 300 of sound, 400 of it cached; 100 and 200 of output.
    100 * 4 + 200 * 0.5 + 300 * 32 + 400 * 0.25 + 100 * 16 + 200 * 64,
  ],
  [
    'cached sound without a price of its own as sound',
    { inputPerMTok: 1, cachedInputPerMTok: 0.1, audioInputPerMTok: 10 },
    { inputTokens: 100, cachedInputTokens: 60, audioInputTokens: 80, cachedAudioTokens: 40 },
    20 * 0.1 + 40 * 10 + 40 * 10,
  ],
  [
    'images, text and sound apart, cached or not',
    {
      ...{ inputPerMTok: 4, cachedInputPerMTok: 0.5, audioInputPerMTok: 32, cachedAudioInputPerMTok: 0.25 },
      ...{ imageInputPerMTok: 5, cachedImageInputPerMTok: 0.75 },
    },
    {
      ...{ inputTokens: 1000, cachedInputTokens: 600, audioInputTokens: 300, cachedAudioTokens: 200 },
      ...{ imageInputTokens: 500, cachedImageTokens: 300 },
    },
    // 200 of text, 100 of it cached; 100 of sound and 200 cached; 200 of images and 300 cached.
    100 * 4 + 100 * 0.5 + 100 * 32 + 200 * 0.25 + 200 * 5 + 300 * 0.75,
  ],
  [
    'images without a price of their own as text',
    { inputPerMTok: 4, cachedInputPerMTok: 0.5 },
    { inputTokens: 100, cachedInputTokens: 60, imageInputTokens: 80, cachedImageTokens: 40 },
    40 * 4 + 60 * 0.5,
  ],
  ['a fraction of a micro-dollar rounded half up', { inputPerMTok: 0.5 }, { inputTokens: 1 }, 1],
  ['less than half a micro-dollar rounded down', { inputPerMTok: 0.05 }, { inputTokens: 9 }, 0],
  [
    'prices that floats cannot hold',
    { inputPerMTok: 0.1, outputPerMTok: 0.2 },
    { inputTokens: 3e6, outputTokens: 3e6 },
    900_000,
  ],
  [
    'long context above its bound',
    { inputPerMTok: 1, longContext: { aboveInputTokens: 999, inputPerMTok: 2 } },
    { inputTokens: 1000 },
    2000,
  ],
  [
    'long context at its bound',
    { inputPerMTok: 1, longContext: { aboveInputTokens: 1000, inputPerMTok: 2 } },
    { inputTokens: 1000 },
    1000,
  ],
  [
    'a service tier',
    { inputPerMTok: 1, serviceTiers: { flex: { inputPerMTok: 0.5 } } },
    { inputTokens: 1000 },
    500,
    { serviceTier: 'flex' },
  ],
  [
    'a service tier whose prices rise with long input as the usual ones do',
    {
      inputPerMTok: 1,
      outputPerMTok: 10,
      longContext: { aboveInputTokens: 999, inputPerMTok: 2, outputPerMTok: 15 },
      serviceTiers: { flex: { inputPerMTok: 0.5, outputPerMTok: 5 } },
    },
    { inputTokens: 1000, outputTokens: 1000 },
    1000 + 7500,
    { serviceTier: 'flex' },
  ],
  [
    'a service tier with its own prices for long input',
    {
      inputPerMTok: 1,
      longContext: { aboveInputTokens: 999, inputPerMTok: 2 },
      serviceTiers: { priority: { inputPerMTok: 4, longContext: { inputPerMTok: 5 } } },
    },
    { inputTokens: 1000 },
    5000,
    { serviceTier: 'priority' },
  ],
  [
    'a service tier with long input, where the usual price is as good as nothing',
    {
      inputPerMTok: 5e-324,
      longContext: { aboveInputTokens: 999, inputPerMTok: 2 },
      serviceTiers: { flex: { inputPerMTok: 0.5 } },
    },
    { inputTokens: 1000 },
    2000,
    { serviceTier: 'flex' },
  ],
  [
    'a cache write of an hour at its own price',
    { inputPerMTok: 1, cacheWritePerMTok: 1.25, cacheWrite1hPerMTok: 3 },
    { inputTokens: 1000, cacheWriteTokens: 600, cacheWrite1hTokens: 400 },
    400 + 250 + 1200,
  ],
  [
    "a cache write of an hour at Anthropic's factor, where it has no price of its own",
    { inputPerMTok: 3, cacheWritePerMTok: 3.75 },
    { inputTokens: 1000, cacheWriteTokens: 1000, cacheWrite1hTokens: 1000 },
    6000,
  ],
  [
    'a cache write of an hour as input, where cache writes have no price',
    { inputPerMTok: 3 },
    { inputTokens: 1000, cacheWriteTokens: 1000, cacheWrite1hTokens: 1000 },
    3000,
  ],
  [
    'a service tier without a price',
    { inputPerMTok: 1, serviceTiers: {} },
    { inputTokens: 1000 },
    1000,
    { serviceTier: 'auto' },
  ],
  ['images', { perImage: 0.04 }, { images: 3 }, 120_000],
  [
    'images by size',
    { perImage: { '1024x1024': 0.04, '512x512': 0.02 } },
    { images: 2 },
    40_000,
    { imageSize: '512x512' },
  ],
  [
    'images by quality',
    { perImage: { hd: 0.08, standard: 0.04 } },
    { images: 1 },
    80_000,
    { imageSize: '1x1', imageQuality: 'hd' },
  ],
  [
    'images by size and quality',
    { perImage: { '1024x1024': { hd: 0.08, standard: 0.04 } } },
    { images: 1 },
    40_000,
    { imageSize: '1024x1024', imageQuality: 'standard' },
  ],
  [
    'images that the table does not have, at its highest price',
    { perImage: { '1024x1024': { hd: 0.08 }, '512x512': 0.02 } },
    { images: 1 },
    80_000,
    { imageSize: 'auto' },
  ],
  [
    'a size, a quality and a tier that are not in the table but are members of every object',
    {
      perImage: { '1024x1024': { hd: 0.08 } },
      inputPerMTok: 1,
      serviceTiers: { flex: { inputPerMTok: 0.5 } },
    },
    { images: 1, inputTokens: 1_000_000 },
    1_080_000,
    { imageSize: 'constructor', imageQuality: '__proto__', serviceTier: '__proto__' },
  ],
  [
    'images of no named size or quality at the default',
    { perImage: { default: { default: 0.04, hd: 0.08 }, '1792x1024': { default: 0.08, hd: 0.12 } } },
    { images: 1 },
    40_000,
  ],
  [
    'images of no named size at the default size',
    { perImage: { default: { default: 0.04, hd: 0.08 }, '1792x1024': { default: 0.08, hd: 0.12 } } },
    { images: 1 },
    80_000,
    { imageQuality: 'hd' },
  ],
  [
    'images of no named quality at the default quality',
    { perImage: { default: 0.04, '1792x1024': { default: 0.08, hd: 0.12 } } },
    { images: 1 },
    80_000,
    { imageSize: '1792x1024' },
  ],
  [
    'names of members that every object has, at the highest price',
    { inputPerMTok: 1, serviceTiers: {}, perImage: { '1024x1024': { hd: 0.08 }, '512x512': 0.02 } },
    { images: 1 },
    80_000,
    { imageSize: 'constructor', imageQuality: 'toString', serviceTier: '__proto__' },
  ],
  ['audio by the minute', { perMinute: 0.006 }, { audioMs: 90_000 }, 9000],
  ['speech by characters', { perMillionChars: 15 }, { characters: 4096 }, 61_440],
  ['the request itself', { perRequest: 0.01 }, {}, 10_000],
  [
    'calls of built-in tools, each at its own price, and those without one for nothing',
    { perThousandToolCalls: { web_search: 10, file_search: 2.5, code_interpreter: 30 } },
    { toolCalls: { web_search: 3, file_search: 1, web_fetch: 7 } },
    30_000 + 2500,
  ],
  [
    'a fraction of a micro-dollar of a call, rounded once with the rest',
    { inputPerMTok: 0.5, perThousandToolCalls: { web_search: 0.0005 } },
    { inputTokens: 1, toolCalls: { web_search: 1 } },
    1,
  ],
  [
    'a tool whose name is a member of every object, for nothing',
    { perThousandToolCalls: { web_search: 10 } },
    { toolCalls: { constructor: 3 } },
    0,
  ],
];

test.for(CASES)('%s', ([, price, consumed, expected, tariff]) => {
  expect(costMicroUsd(price, { ...NOTHING_CONSUMED, ...consumed }, tariff)).toBe(expected);
});

const usd = fc.double({ min: 0, max: 100, noNaN: true });
const tokenPrices = fc.record(
  {
    inputPerMTok: usd,
    cachedInputPerMTok: usd,
    cacheWritePerMTok: usd,
    cacheWrite1hPerMTok: usd,
    outputPerMTok: usd,
    reasoningPerMTok: usd,
  },
  { requiredKeys: [] },
);
const TOOLS = ['web_search', 'file_search', 'code_interpreter'] as const;
const TIERS = ['flex', 'priority'] as const;
const prices: fc.Arbitrary<Price> = fc.record(
  {
    inputPerMTok: usd,
    outputPerMTok: usd,
    cacheWritePerMTok: usd,
    reasoningPerMTok: usd,
    longContext: fc
      .tuple(tokenPrices, fc.integer({ min: 1, max: 50_000 }))
      .map(([rates, aboveInputTokens]) => ({ ...rates, aboveInputTokens })),
    serviceTiers: fc.dictionary(
      fc.constantFrom(...TIERS),
      fc
        .tuple(tokenPrices, fc.option(tokenPrices, { nil: undefined }))
        .map(([rates, longContext]) => ({ ...rates, ...(longContext && { longContext }) })),
    ),
    perImage: fc.oneof(
      usd,
      fc.dictionary(
        fc.constantFrom('default', '1024x1024', 'hd'),
        fc.oneof(usd, fc.dictionary(fc.constantFrom('default', 'hd', 'low'), usd, { minKeys: 1 })),
        { minKeys: 1 },
      ),
    ),
    perMinute: usd,
    perMillionChars: usd,
    perRequest: usd,
    perThousandToolCalls: fc.dictionary(fc.constantFrom(...TOOLS), usd),
  },
  { requiredKeys: [] },
);
/** The most of a request, and shares of it that are used. */
const uses = fc.record({
  input: fc.integer({ min: 0, max: 100_000 }),
  output: fc.integer({ min: 0, max: 100_000 }),
  shares: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 }),
  images: fc.integer({ min: 0, max: 4 }),
});
const words = fc.constantFrom(undefined, '1024x1024', 'hd', 'low', 'other');

test('no usage within what is reserved costs more than what is reserved, for any price', () => {
  const given = {
    prices,
    uses,
    tier: fc.constantFrom(undefined, ...TIERS, 'other'),
    size: words,
    quality: words,
  };
  fc.assert(
    fc.property(fc.record({ ...given, asksSize: fc.boolean() }), (run) => {
      const { input, output, shares, images } = run.uses;
      const [used = 0, cached = 0, written = 0, hour = 0, said = 0, thought = 0] = shares;
      const inputTokens = Math.floor(input * used);
      const cachedInputTokens = Math.floor(inputTokens * cached);
      const cacheWriteTokens = Math.floor((inputTokens - cachedInputTokens) * written);
      const outputTokens = Math.floor(output * said);
      const consumption = {
        ...NOTHING_CONSUMED,
        inputTokens,
        cachedInputTokens,
        cacheWriteTokens,
        cacheWrite1hTokens: Math.floor(cacheWriteTokens * hour),
        outputTokens,
        reasoningTokens: Math.floor(outputTokens * thought),
        images,
        characters: input,
        audioMs: output,
      };
      const made = { imageSize: run.size, imageQuality: run.quality };
      const most = { ...consumption, inputTokens: input, outputTokens: output };
      const reserved = mostMicroUsd(run.prices, most, run.asksSize ? made : {});
      expect(costMicroUsd(run.prices, consumption, { ...made, serviceTier: run.tier })).toBeLessThanOrEqual(
        reserved,
      );
    }),
    { numRuns: 2000 },
  );
});

test.for<[NonNullable<Price['perImage']>, number]>([
  [{ default: { default: 0.1 }, hd: 0.02 }, 0.1],
  [{ '1024x1024': { hd: 0.02, low: 0.1 } }, 0.1],
  [{ '1024x1024': 0.1, hd: 0.02 }, 0.1],
  [{ standard: 0.1, hd: 0.02 }, 0.02],
])('of an image whose quality alone is known the most for any size is reserved: %j', ([perImage, most]) => {
  const consumption = { ...NOTHING_CONSUMED, images: 1 };
  expect(mostMicroUsd({ perImage }, consumption, { imageQuality: 'hd' })).toBe(most * 1e6);
});

test('a tier that a request rules out is not reserved', () => {
  const price: Price = {
    inputPerMTok: 1,
    serviceTiers: { priority: { inputPerMTok: 1000 }, flex: { inputPerMTok: 0.5 } },
  };
  const consumption = { ...NOTHING_CONSUMED, inputTokens: 1000 };
  expect(mostMicroUsd(price, consumption, {}, ['flex'])).toBe(1000);
  expect(mostMicroUsd(price, consumption, {}, ['priority'])).toBe(1_000_000);
  expect(mostMicroUsd(price, consumption)).toBe(1_000_000);
});

const calls = fc.integer({ min: 0, max: 20 });
const UNBOUNDED = Number.POSITIVE_INFINITY;
const bound = fc.oneof(calls, fc.constant(UNBOUNDED));

test('no calls within the bounds of a request cost more than those that are reserved, for any prices', () => {
  const bounds = fc.record({
    calls: fc.dictionary(fc.constantFrom(...TOOLS), bound),
    othersCalls: bound,
    total: bound,
  });
  const made = fc.tuple(calls, calls, calls);
  fc.assert(
    fc.property(prices, bounds, made, ({ perThousandToolCalls = {} }, request, counts) => {
      const price = { perThousandToolCalls };
      let left = request.total;
      const toolCalls: Record<string, number> = {};
      for (const [index, tool] of TOOLS.entries()) {
        const own = request.calls[tool] ?? request.othersCalls;
        const count = Math.min(counts[index] ?? 0, own, left);
        left -= count;
        toolCalls[tool] = count;
      }
      const most = mostToolCalls(price, request, 20);
      expect(costMicroUsd(price, { ...NOTHING_CONSUMED, toolCalls })).toBeLessThanOrEqual(
        mostMicroUsd(price, { ...NOTHING_CONSUMED, toolCalls: most }),
      );
    }),
    { numRuns: 2000 },
  );
});

test.for([
  [
    'what each may be called',
    { web_search: 2, file_search: 3 },
    0,
    UNBOUNDED,
    { web_search: 2, file_search: 3 },
  ],
  [
    'the dearest first, where all together are bounded',
    { web_search: 2, file_search: 3 },
    0,
    4,
    { web_search: 2, file_search: 2 },
  ],
  [
    'so many as are assumed, where nothing bounds them',
    { web_search: UNBOUNDED },
    0,
    UNBOUNDED,
    { web_search: 100 },
  ],
  ['any tool, where which there are is not known', {}, UNBOUNDED, 5, { web_search: 5 }],
  ['nothing of a tool without a price', { web_fetch: UNBOUNDED }, 0, UNBOUNDED, {}],
] as const)('of built-in tools is reserved %s', ([, own, othersCalls, total, expected]) => {
  const price = { perThousandToolCalls: { file_search: 2.5, web_search: 10 } };
  expect(mostToolCalls(price, { calls: own, othersCalls, total }, 100)).toEqual(expected);
});
