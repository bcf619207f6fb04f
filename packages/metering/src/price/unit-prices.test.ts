import { type Consumption, NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { costMicroUsd } from './cost.ts';
import { costParts, unitPricesOf } from './unit-prices.ts';

const count = fc.integer({ min: 0, max: 1_000_000 });
const consumptions = fc
  .record({
    plain: count,
    cached: count,
    written: count,
    hour: count,
    said: count,
    thought: count,
    images: count,
  })
  .map(
    ({ plain, cached, written, hour, said, thought, images }): Consumption => ({
      ...NOTHING_CONSUMED,
      inputTokens: plain + cached + written + hour,
      cachedInputTokens: cached,
      cacheWriteTokens: written + hour,
      cacheWrite1hTokens: hour,
      outputTokens: said + thought,
      reasoningTokens: thought,
      images: images % 11,
      characters: images,
      audioMs: said,
      toolCalls: { web_search: written % 50, file_search: images % 7, web_fetch: 1 },
    }),
  );
const usd = fc.integer({ min: 0, max: 100_000 }).map((thousandths) => thousandths / 1000);

test('the parts of a cost add up to it, for any consumption and prices', () => {
  fc.assert(
    fc.property(consumptions, usd, usd, usd, fc.boolean(), (consumption, first, second, third, isFlex) => {
      const price = {
        ...{
          inputPerMTok: first,
          cachedInputPerMTok: second,
          cacheWritePerMTok: second,
          outputPerMTok: third,
        },
        ...{
          perImage: { hd: first, default: second },
          perMinute: third,
          perRequest: second,
          perMillionChars: first,
          perThousandToolCalls: { web_search: first, file_search: second },
        },
        longContext: { inputPerMTok: third, aboveInputTokens: 200_000 },
        serviceTiers: { flex: { outputPerMTok: first } },
      };
      const tariff = { ...(isFlex && { serviceTier: 'flex' }), imageQuality: 'hd' };
      const parts = costParts(consumption, unitPricesOf(price, consumption, tariff));
      const sum = parts.reduce((total, { microUsd }) => total + microUsd, 0);
      expect(Math.abs(sum - costMicroUsd(price, consumption, tariff))).toBeLessThanOrEqual(0.51);
    }),
  );
});

test('what was not used, or costs nothing, is no part of the bill', () => {
  const consumption = { ...NOTHING_CONSUMED, inputTokens: 1200, outputTokens: 40 };
  const price = { inputPerMTok: 1.25, outputPerMTok: 10, perImage: 0.04, perRequest: 0 };
  const unitPrices = unitPricesOf(price, consumption);
  expect(unitPrices).toEqual({ input: 1.25, output: 10 });
  expect(costParts(consumption, unitPrices)).toEqual([
    { kind: 'input', amount: 1200, unitUsd: 1.25, unit: 1_000_000, microUsd: 1500 },
    { kind: 'output', amount: 40, unitUsd: 10, unit: 1_000_000, microUsd: 400 },
  ]);
});

test('calls of tools are parts of the bill by tool', () => {
  const consumption = { ...NOTHING_CONSUMED, toolCalls: { web_search: 3, web_fetch: 2 } };
  const unitPrices = unitPricesOf(
    { perThousandToolCalls: { web_search: 10, file_search: 2.5 } },
    consumption,
  );
  expect(unitPrices).toEqual({ toolCalls: { web_search: 10 } });
  expect(costParts(consumption, unitPrices)).toEqual([
    { kind: 'toolCall', tool: 'web_search', amount: 3, unitUsd: 10, unit: 1000, microUsd: 30_000 },
  ]);
});
