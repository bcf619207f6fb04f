import type { Price } from '@gateway/contracts/models/price';
import { UnitPrices } from '@gateway/contracts/usage/usage-detail';
import type { Consumption } from '@gateway/contracts/usage/usage-record';
import { imagePrice, type Tariff, tokenPrices } from './cost.ts';

type PriceKind = keyof UnitPrices;

/** What of a consumption each unit price is for, and how much of it makes one unit. */
const PARTS: Readonly<Record<PriceKind, { amount: (used: Consumption) => number; unit: number }>> = {
  input: {
    amount: ({ inputTokens, cachedInputTokens, cacheWriteTokens }) =>
      Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens),
    unit: 1e6,
  },
  cachedInput: { amount: ({ cachedInputTokens }) => cachedInputTokens, unit: 1e6 },
  cacheWrite: { amount: ({ cacheWriteTokens }) => cacheWriteTokens, unit: 1e6 },
  output: {
    amount: ({ outputTokens, reasoningTokens }) => Math.max(0, outputTokens - reasoningTokens),
    unit: 1e6,
  },
  reasoning: { amount: ({ reasoningTokens }) => reasoningTokens, unit: 1e6 },
  image: { amount: ({ images }) => images, unit: 1 },
  characters: { amount: ({ characters }) => characters, unit: 1e6 },
  minute: { amount: ({ audioMs }) => audioMs, unit: 60_000 },
  request: { amount: () => 1, unit: 1 },
};

const KINDS = UnitPrices.keyof().options;
const MICRO_PER_USD = 1e6;

/** The unit prices by which `costMicroUsd` prices a consumption: of what it has, and only those that are not 0. */
export function unitPricesOf(price: Price, consumption: Consumption, tariff: Tariff = {}): UnitPrices {
  const tokens = tokenPrices(price, consumption, tariff);
  const prices: Record<PriceKind, number | undefined> = {
    input: tokens.inputPerMTok,
    cachedInput: tokens.cachedInputPerMTok ?? tokens.inputPerMTok,
    cacheWrite: tokens.cacheWritePerMTok ?? tokens.inputPerMTok,
    output: tokens.outputPerMTok,
    reasoning: tokens.reasoningPerMTok ?? tokens.outputPerMTok,
    image: consumption.images === 0 ? undefined : imagePrice(price.perImage, tariff),
    characters: price.perMillionChars,
    minute: price.perMinute,
    request: price.perRequest,
  };
  const paid: UnitPrices = {};
  for (const kind of KINDS) {
    const usd = prices[kind];
    if (usd && PARTS[kind].amount(consumption) > 0) paid[kind] = usd;
  }
  return paid;
}

/** One line of a request's bill. */
export interface CostPart {
  readonly kind: PriceKind;
  /** Tokens, images, characters, milliseconds of audio, or requests. */
  readonly amount: number;
  /** US dollars for so many of them. */
  readonly unitUsd: number;
  readonly unit: number;
  /** Not rounded. */
  readonly microUsd: number;
}

/** How a cost came about: each kind of consumption by its unit price. */
export const costParts = (consumption: Consumption, unitPrices: UnitPrices): CostPart[] =>
  KINDS.flatMap((kind) => {
    const unitUsd = unitPrices[kind];
    if (unitUsd === undefined) return [];
    const { unit } = PARTS[kind];
    const amount = PARTS[kind].amount(consumption);
    return [{ kind, amount, unitUsd, unit, microUsd: (amount * unitUsd * MICRO_PER_USD) / unit }];
  });
