import type { Price } from '@gateway/contracts/models/price';
import type { UnitPrices } from '@gateway/contracts/usage/usage-detail';
import { type Consumption, NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { costMicroUsd } from '@gateway/metering/price/cost';
import { unitPricesOf } from '@gateway/metering/price/unit-prices';
import { NO_USAGE, type Usage } from '../wire/usage.ts';

/** A call's usage as its record has it. */
export function consumptionOf({
  reported: _,
  webSearches: __,
  serviceTier: ___,
  ...tokens
}: Usage): Consumption {
  return { ...NOTHING_CONSUMED, ...tokens };
}

/** The tokens of a record's consumption. */
export const usageOfConsumption = (consumption: Consumption): Usage => ({
  ...NO_USAGE,
  inputTokens: consumption.inputTokens,
  cachedInputTokens: consumption.cachedInputTokens,
  cacheWriteTokens: consumption.cacheWriteTokens,
  outputTokens: consumption.outputTokens,
  reasoningTokens: consumption.reasoningTokens,
});

/** In micro-dollars, at the tier that the upstream named; null where the model has no price. */
export const costOf = (price: Price | null, usage: Usage): number | null =>
  price && costMicroUsd(price, consumptionOf(usage), { serviceTier: usage.serviceTier });

/** The unit prices of `costOf`; null where the model has no price. */
export const pricesOf = (price: Price | null, usage: Usage): UnitPrices | null =>
  price && unitPricesOf(price, consumptionOf(usage), { serviceTier: usage.serviceTier });

/** English text has about so many characters per token. */
const CHARACTERS_PER_TOKEN = 4;

/** For an upstream that reported no usage, or not to the end: at least what it did report. */
export function estimatedUsage(
  reported: Usage | null,
  { inputLength, outputLength }: { inputLength: number; outputLength: number },
): Usage {
  const known = reported ?? NO_USAGE;
  return {
    ...known,
    inputTokens: known.inputTokens || Math.ceil(inputLength / CHARACTERS_PER_TOKEN),
    outputTokens: Math.max(known.outputTokens, Math.ceil(outputLength / CHARACTERS_PER_TOKEN)),
    reported: false,
  };
}
