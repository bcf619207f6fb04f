import { lookUp } from '@gateway/contracts/look-up';
import type { Price } from '@gateway/contracts/models/price';
import type { Consumption, ToolCalls } from '@gateway/contracts/usage/usage-record';
import { ratesOf, TOKEN_KINDS, type TokenRates } from './token-prices.ts';

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
const CALLS_PER_THOUSAND = 1000;

const pico = (usd: number | undefined, amount: number, unit: number): number =>
  usd === undefined ? 0 : Math.round((usd * PICO_PER_USD * amount) / unit);

/**
 * What a request costs, in whole micro-dollars, rounded once at the end (half up).
 * The same numbers always give the same cost, so a ledger can be checked against the provider's to the micro-dollar.
 */
export function costMicroUsd(price: Price, consumption: Consumption, tariff: Tariff = {}): number {
  const images = consumption.images * pico(imagePrice(price.perImage, tariff), 1, 1);
  return Math.round(
    (tokensPico(price, consumption, tariff) + images + othersPico(price, consumption)) / PICO_PER_MICRO,
  );
}

/**
 * The most that a request can cost which consumes no more than this, in whole micro-dollars: each token counts as the most
 * expensive one that it may be, at the most expensive tier that the provider may report.
 *
 * @param tiers the tiers that it may report beside the usual one; null: any
 */
export function mostMicroUsd(
  price: Price,
  consumption: Consumption,
  tariff: Omit<Tariff, 'serviceTier'> = {},
  tiers: readonly string[] | null = null,
): number {
  const { perImage } = price;
  const images = consumption.images * pico(mostPerImage(perImage, tariff), 1, 1);
  const others = othersPico(price, consumption);
  const tokens = mostForTokens(price, consumption, tiers ?? Object.keys(price.serviceTiers ?? {}));
  return Math.ceil((tokens + images + others) / PICO_PER_MICRO);
}

function mostForTokens(
  price: Price,
  { inputTokens, outputTokens }: Consumption,
  tiers: readonly string[],
): number {
  const cases = isLongInput(price, inputTokens) ? [false, true] : [false];
  const costs = [undefined, ...tiers].flatMap((serviceTier) =>
    cases.map((isLong) => {
      const rates = ratesOf(price, { serviceTier, isLong });
      return (
        tokenPico(dearestOf(rates, INPUT_KINDS), inputTokens) +
        tokenPico(dearestOf(rates, OUTPUT_KINDS), outputTokens)
      );
    }),
  );
  return Math.max(...costs);
}

const OUTPUT_KINDS = ['output', 'reasoning', 'audioOutput'] as const;
const INPUT_KINDS = TOKEN_KINDS.filter((kind) => !OUTPUT_KINDS.some((other) => other === kind));

const dearestOf = (rates: TokenRates, kinds: readonly (keyof TokenRates)[]): number =>
  Math.max(...kinds.map((kind) => rates[kind] ?? 0));

const othersPico = (price: Price, { characters, audioMs, toolCalls }: Consumption): number =>
  pico(price.perMillionChars, characters, CHARACTERS_PER_MILLION) +
  pico(price.perMinute, audioMs, MS_PER_MINUTE) +
  pico(price.perRequest, 1, 1) +
  (toolCalls === undefined ? 0 : toolsPico(price, toolCalls));

const toolsPico = ({ perThousandToolCalls = {} }: Price, calls: ToolCalls): number =>
  Object.entries(calls).reduce(
    (sum, [tool, count]) => sum + pico(lookUp(perThousandToolCalls, tool), count, CALLS_PER_THOUSAND),
    0,
  );

/** Whether an input has the prices of `longContext`, where there are some. */
export const isLongInput = ({ longContext }: Price, inputTokens: number): boolean =>
  longContext !== undefined && inputTokens > longContext.aboveInputTokens;

/** The token prices of a consumption. */
export const ratesFor = (price: Price, { inputTokens }: Consumption, { serviceTier }: Tariff): TokenRates =>
  ratesOf(price, { serviceTier, isLong: isLongInput(price, inputTokens) });

/** Tokens by the kind that decides their price: each one is of one kind. */
export function tokensByKind(consumption: Consumption): Readonly<Record<keyof TokenRates, number>> {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, cacheWrite1hTokens = 0 } = consumption;
  const { outputTokens, reasoningTokens, audioOutputTokens = 0 } = consumption;
  const { audioInputTokens = 0, cachedAudioTokens = 0 } = consumption;
  const { imageInputTokens = 0, cachedImageTokens = 0 } = consumption;
  const audioInput = Math.max(0, audioInputTokens - cachedAudioTokens);
  const imageInput = Math.max(0, imageInputTokens - cachedImageTokens);
  return {
    input: Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens - audioInput - imageInput),
    cachedInput: Math.max(0, cachedInputTokens - cachedAudioTokens - cachedImageTokens),
    cacheWrite: Math.max(0, cacheWriteTokens - cacheWrite1hTokens),
    cacheWrite1h: cacheWrite1hTokens,
    output: Math.max(0, outputTokens - reasoningTokens - audioOutputTokens),
    reasoning: reasoningTokens,
    audioInput,
    cachedAudioInput: cachedAudioTokens,
    imageInput,
    cachedImageInput: cachedImageTokens,
    audioOutput: audioOutputTokens,
  };
}

function tokensPico(price: Price, consumption: Consumption, tariff: Tariff): number {
  const rates = ratesFor(price, consumption, tariff);
  const tokens = tokensByKind(consumption);
  let sum = 0;
  for (const kind of TOKEN_KINDS) sum += tokenPico(rates[kind], tokens[kind]);
  return sum;
}

/** For a million tokens. */
const tokenPico = (usd: number | null, tokens: number): number =>
  pico(usd ?? undefined, tokens, TOKENS_PER_MTOK);

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

/** A size in pixels, among the entries of a table. */
const IS_SIZE = /^\d+x\d+$/;
/** Stands for every word that a table does not have. */
const OTHER = '';

/** The highest that `imagePrice` can be where the provider may report any value that the request leaves open. */
function mostPerImage(prices: Price['perImage'], { imageSize, imageQuality }: Tariff): number | undefined {
  if (typeof prices !== 'object') return prices;
  const names = Object.keys(prices);
  const known = names.filter((name) => imageQuality === undefined || IS_SIZE.test(name));
  const sizes = imageSize === undefined ? [undefined, OTHER, ...known] : [imageSize];
  const inSizes = Object.values(prices).flatMap((entry) =>
    typeof entry === 'number' ? [] : Object.keys(entry),
  );
  const qualities = imageQuality === undefined ? [undefined, OTHER, ...names, ...inSizes] : [imageQuality];
  return Math.max(
    0,
    ...sizes.flatMap((size) =>
      qualities.map((quality) => imagePrice(prices, { imageSize: size, imageQuality: quality }) ?? 0),
    ),
  );
}

const dearest = (entries: readonly (number | Record<string, number>)[]): number =>
  Math.max(0, ...entries.flatMap((entry) => (typeof entry === 'number' ? [entry] : Object.values(entry))));
