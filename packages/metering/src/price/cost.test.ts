import type { Price } from '@gateway/contracts/models/price';
import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { expect, test } from 'vitest';
import { costMicroUsd, type Tariff } from './cost.ts';

const tokens = {
  inputTokens: 1000,
  cachedInputTokens: 400,
  cacheWriteTokens: 100,
  outputTokens: 300,
  reasoningTokens: 200,
};

const CASES: readonly [name: string, Price, Partial<typeof NOTHING_CONSUMED>, number, Tariff?][] = [
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
];

test.for(CASES)('%s', ([, price, consumed, expected, tariff]) => {
  expect(costMicroUsd(price, { ...NOTHING_CONSUMED, ...consumed }, tariff)).toBe(expected);
});
