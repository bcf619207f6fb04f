import { lookUp } from '@gateway/contracts/look-up';
import type { Price, TokenPrices } from '@gateway/contracts/models/price';

/** The price of each kind of token, in US dollars for a million; null: it costs nothing of its own. */
export type TokenRates = Readonly<Record<TokenKind, number | null>>;
export const TOKEN_KINDS = [
  ...(['input', 'cachedInput', 'cacheWrite', 'cacheWrite1h', 'output', 'reasoning'] as const),
  ...(['audioInput', 'cachedAudioInput', 'imageInput', 'cachedImageInput', 'audioOutput'] as const),
] as const;
type TokenKind = (typeof TOKEN_KINDS)[number];

/** Anthropic charges 2 times the input price for an hour in the cache, and 1.25 times for the usual five minutes. */
const HOUR_TO_USUAL = 1.6;
/** Of a derived price: more than any price list has. */
const DECIMALS = 9;
const rounded = (usd: number): number => Number(usd.toFixed(DECIMALS));

/** What decides which token prices hold. */
export interface RateCase {
  /** As the provider reports it. */
  readonly serviceTier?: string | undefined;
  /** The input is larger than the bound of `longContext`. */
  readonly isLong: boolean;
}

/** The token prices of a request. A tier and long input both apply. */
export function ratesOf(price: Price, { serviceTier, isLong }: RateCase): TokenRates {
  const tier = price.serviceTiers && lookUp(price.serviceTiers, serviceTier);
  const usual = withDefaults(price);
  const long = isLong && price.longContext ? withDefaults({ ...price, ...price.longContext }) : null;
  if (tier === undefined) return long ?? usual;
  const atTier = withDefaults({ ...price, ...tier });
  return long === null ? atTier : risen(atTier, { usual, long }, tier.longContext);
}

function withDefaults(prices: TokenPrices): TokenRates {
  const { inputPerMTok: input = null, outputPerMTok: output = null } = prices;
  const { cacheWritePerMTok: write, audioInputPerMTok: audio, imageInputPerMTok: image } = prices;
  const cached = prices.cachedInputPerMTok ?? input;
  return {
    input,
    cachedInput: cached,
    cacheWrite: write ?? input,
    cacheWrite1h:
      prices.cacheWrite1hPerMTok ?? (write === undefined ? input : rounded(write * HOUR_TO_USUAL)),
    output,
    reasoning: prices.reasoningPerMTok ?? output,
    audioInput: audio ?? input,
    cachedAudioInput: prices.cachedAudioInputPerMTok ?? audio ?? cached,
    imageInput: image ?? input,
    cachedImageInput: prices.cachedImageInputPerMTok ?? image ?? cached,
    audioOutput: prices.audioOutputPerMTok ?? output,
  };
}

/** A tier's prices for long input: its own ones, else by as much above its usual ones as the model's are above theirs. */
function risen(
  atTier: TokenRates,
  { usual, long }: { readonly usual: TokenRates; readonly long: TokenRates },
  own: TokenPrices | undefined,
): TokenRates {
  const rise = (kind: TokenKind): number | null => {
    const [tiers, before, after] = [atTier[kind], usual[kind], long[kind]];
    if (tiers === null || after === null) return tiers ?? after;
    // There is no factor to nothing, nor to what is less than any price list has.
    const isNothing = before === null || rounded(before) === 0;
    return isNothing ? Math.max(tiers, after) : rounded((tiers * after) / before);
  };
  const rates = {
    input: rise('input'),
    cachedInput: rise('cachedInput'),
    cacheWrite: rise('cacheWrite'),
    cacheWrite1h: rise('cacheWrite1h'),
    output: rise('output'),
    reasoning: rise('reasoning'),
    audioInput: rise('audioInput'),
    cachedAudioInput: rise('cachedAudioInput'),
    imageInput: rise('imageInput'),
    cachedImageInput: rise('cachedImageInput'),
    audioOutput: rise('audioOutput'),
  };
  if (own === undefined) return rates;
  const { inputPerMTok, outputPerMTok, cacheWritePerMTok } = own;
  return {
    input: inputPerMTok ?? rates.input,
    cachedInput: own.cachedInputPerMTok ?? rates.cachedInput,
    cacheWrite: cacheWritePerMTok ?? rates.cacheWrite,
    cacheWrite1h:
      own.cacheWrite1hPerMTok ??
      (cacheWritePerMTok === undefined ? rates.cacheWrite1h : rounded(cacheWritePerMTok * HOUR_TO_USUAL)),
    output: outputPerMTok ?? rates.output,
    reasoning: own.reasoningPerMTok ?? rates.reasoning,
    audioInput: own.audioInputPerMTok ?? rates.audioInput,
    cachedAudioInput: own.cachedAudioInputPerMTok ?? rates.cachedAudioInput,
    imageInput: own.imageInputPerMTok ?? rates.imageInput,
    cachedImageInput: own.cachedImageInputPerMTok ?? rates.cachedImageInput,
    audioOutput: own.audioOutputPerMTok ?? rates.audioOutput,
  };
}
