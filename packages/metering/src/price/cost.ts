import { lookUp } from '@gateway/contracts/look-up';
import type { Price } from '@gateway/contracts/models/price';
import type { Consumption } from '@gateway/contracts/usage/usage-record';

/** What decides a request's price, apart from its consumption. */
export interface Tariff {
  readonly serviceTier?: string | undefined;
  readonly imageSize?: string | undefined;
  readonly imageQuality?: string | undefined;
}

/** Sums are in whole pico-dollars: every price of up to six decimals per million tokens is exact in them. */
const PICO_PER_USD = 1e12;
const PICO_PER_MICRO = 1e6;
const TOKENS_PER_MTOK = 1e6;
const CHARACTERS_PER_MILLION = 1e6;
const MS_PER_MINUTE = 60_000;

const pico = (usd: number | undefined, amount: number, unit: number): number =>
  usd === undefined ? 0 : Math.round((usd * PICO_PER_USD * amount) / unit);

/**
 * What a request costs, in whole micro-dollars, rounded once at the end (half up).
 * The same numbers always give the same cost, so a ledger can be checked against the provider's to the micro-dollar.
 */
export function costMicroUsd(price: Price, consumption: Consumption, tariff: Tariff = {}): number {
  const total =
    tokensPico(price, consumption, tariff) +
    consumption.images * pico(imagePrice(price.perImage, tariff), 1, 1) +
    pico(price.perMillionChars, consumption.characters, CHARACTERS_PER_MILLION) +
    pico(price.perMinute, consumption.audioMs, MS_PER_MINUTE) +
    pico(price.perRequest, 1, 1);
  return Math.round(total / PICO_PER_MICRO);
}

/** The token prices for a request with this input, at this tier. */
export function tokenPrices(
  price: Price,
  { inputTokens }: Pick<Consumption, 'inputTokens'>,
  { serviceTier }: Tariff,
): Price {
  const { longContext } = price;
  const isLong = longContext !== undefined && inputTokens > longContext.aboveInputTokens;
  const tier = price.serviceTiers && lookUp(price.serviceTiers, serviceTier);
  if (!isLong && tier === undefined) return price;
  return { ...price, ...(isLong ? longContext : {}), ...tier };
}

function tokensPico(price: Price, consumption: Consumption, tariff: Tariff): number {
  const rates = tokenPrices(price, consumption, tariff);
  const { cachedInputTokens, cacheWriteTokens, reasoningTokens } = consumption;
  const plainInput = Math.max(0, consumption.inputTokens - cachedInputTokens - cacheWriteTokens);
  const plainOutput = Math.max(0, consumption.outputTokens - reasoningTokens);
  return (
    pico(rates.inputPerMTok, plainInput, TOKENS_PER_MTOK) +
    pico(rates.cachedInputPerMTok ?? rates.inputPerMTok, cachedInputTokens, TOKENS_PER_MTOK) +
    pico(rates.cacheWritePerMTok ?? rates.inputPerMTok, cacheWriteTokens, TOKENS_PER_MTOK) +
    pico(rates.outputPerMTok, plainOutput, TOKENS_PER_MTOK) +
    pico(rates.reasoningPerMTok ?? rates.outputPerMTok, reasoningTokens, TOKENS_PER_MTOK)
  );
}

/** The entry for a value that the request does not give, such as its size. */
const UNNAMED = 'default';

/** One image's price; for a size or quality that the table does not have, its highest price. */
export function imagePrice(
  prices: Price['perImage'],
  { imageSize, imageQuality }: Tariff,
): number | undefined {
  if (prices === undefined || typeof prices === 'number') return prices;
  const entry =
    lookUp(prices, imageSize ?? UNNAMED) ??
    lookUp(prices, imageQuality ?? UNNAMED) ??
    dearest(Object.values(prices));
  if (typeof entry === 'number') return entry;
  return lookUp(entry, imageQuality ?? UNNAMED) ?? dearest(Object.values(entry));
}

const dearest = (entries: readonly (number | Record<string, number>)[]): number =>
  Math.max(0, ...entries.flatMap((entry) => (typeof entry === 'number' ? [entry] : Object.values(entry))));
