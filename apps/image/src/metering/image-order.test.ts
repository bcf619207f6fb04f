import { Price } from '@gateway/contracts/models/price';
import { expect, test } from 'vitest';
import { estimateImages, usageOfImages } from './image-order.ts';

const order = { prompt: 'a cat', inputImages: 0 };
const table = Price.parse({
  perImage: { '1024x1024': { low: 0.01, high: 0.16 }, '1536x1024': 0.2, auto: 0.05 },
});
const tokens = Price.parse({ inputPerMTok: 5, outputPerMTok: 40 });
const made = (price: Price | null, reported: readonly unknown[]) =>
  usageOfImages({ price, order, images: reported.length, reported, channel: 'one', attempts: 1 });

test('what the model may choose is estimated at the dearest, what was requested at its own price', () => {
  const costOf = (members: object) => estimateImages({ price: table }, { ...order, ...members }).costMicroUsd;
  expect(costOf({ size: 'auto' })).toBe(200_000);
  expect(costOf({})).toBe(200_000);
  expect(costOf({ size: '1024x1024' })).toBe(160_000);
  expect(costOf({ size: '1024x1024', quality: 'low', n: 3 })).toBe(30_000);
});

test('what was made counts as the provider names it, not as it was requested', () => {
  expect(made(table, [{ size: '1024x1024', quality: 'low' }])).toMatchObject({ costMicroUsd: 10_000 });
});

test.for([
  // Tokens of OpenAI's table: quality, size, of one image.
  ['low', '1024x1024', 272],
  ['medium', '1536x1024', 1584],
  ['high', '1024x1536', 6240],
  ['auto', 'auto', 6240],
] as const)('the tokens of a %s picture of %s are within what was reserved', ([quality, size, output]) => {
  const usage = { input_tokens: 2, output_tokens: 2 * output };
  const estimate = estimateImages({ price: tokens }, { ...order, quality, size, n: 2 });
  const actual = made(tokens, [{ usage }]);
  expect(estimate.costMicroUsd).toBeGreaterThanOrEqual(actual.costMicroUsd ?? Number.NaN);
  expect(estimate.costMicroUsd).toBeLessThan(4 * (actual.costMicroUsd ?? Number.NaN));
});

const NOTHING = { usage: { input_tokens: 0, output_tokens: 0 } };

test('tokens that are paid and not reported are charged as estimated, never as nothing', () => {
  const { costMicroUsd } = estimateImages({ price: tokens }, order);
  for (const reported of [undefined, null, 'text', { usage: { input_tokens: -1 } }, NOTHING, { size: 5 }])
    expect(made(tokens, [reported])).toMatchObject({
      consumption: { images: 1 },
      estimated: true,
      costMicroUsd,
    });
  const { consumption } = estimateImages({ price: tokens }, order);
  expect(made(tokens, [{ usage: { input_tokens: 0, output_tokens: 99.5 } }])).toMatchObject({
    consumption: { inputTokens: consumption.inputTokens, outputTokens: 100 },
    estimated: true,
  });
  expect(made(tokens, [])).toMatchObject({ consumption: { images: 0 }, estimated: false, costMicroUsd: 0 });
  expect(made(table, [{}])).toMatchObject({ estimated: false, costMicroUsd: 200_000 });
  expect(made(null, [{}])).toMatchObject({ costMicroUsd: null });
});
