import type { Price } from '@gateway/contracts/models/price';
import type { KnownDeployment } from './deployments.ts';

const MILLION = 1e6;
const SECONDS_PER_MINUTE = 60;

/** LiteLLM's prices, in US dollars for one token, image, character or second, in the order in which the first counts. */
const PRICES = [
  ['input_cost_per_token', 'inputPerMTok', MILLION],
  ['output_cost_per_token', 'outputPerMTok', MILLION],
  ['cache_read_input_token_cost', 'cachedInputPerMTok', MILLION],
  ['cache_creation_input_token_cost', 'cacheWritePerMTok', MILLION],
  ['cache_creation_input_token_cost_above_1hr', 'cacheWrite1hPerMTok', MILLION],
  ['output_cost_per_reasoning_token', 'reasoningPerMTok', MILLION],
  ['input_cost_per_audio_token', 'audioInputPerMTok', MILLION],
  ['cache_read_input_audio_token_cost', 'cachedAudioInputPerMTok', MILLION],
  ['input_cost_per_image_token', 'imageInputPerMTok', MILLION],
  ['output_cost_per_audio_token', 'audioOutputPerMTok', MILLION],
  ['output_cost_per_image', 'perImage', 1],
  ['input_cost_per_image', 'perImage', 1],
  ['input_cost_per_character', 'perMillionChars', MILLION],
  ['input_cost_per_second', 'perMinute', SECONDS_PER_MINUTE],
  ['output_cost_per_second', 'perMinute', SECONDS_PER_MINUTE],
  ['input_cost_per_query', 'perRequest', 1],
] as const;

export const PRICE_MEMBERS: readonly string[] = PRICES.map(([name]) => name);

/** Without the last digits of a product that binary numbers add. */
const exact = (value: number): number => Number(value.toPrecision(12));

/** What a deployment costs by the file; null: it does not say it. */
export function priceOf({ params, info }: Pick<KnownDeployment, 'params' | 'info'>): Price | null {
  const price: Record<string, number> = {};
  for (const [name, own, factor] of PRICES) {
    const value = Number(params[name] ?? info[name] ?? Number.NaN);
    if (Number.isFinite(value) && value >= 0) price[own] ??= exact(value * factor);
  }
  return Object.keys(price).length === 0 ? null : price;
}

/** How many times the first price the second one is in every member; null: it is not the same factor everywhere. */
export function factorOf(base: Price, other: Price): number | null {
  const names = new Set([...Object.keys(base), ...Object.keys(other)]);
  const amounts = (price: Price): Record<string, unknown> => price;
  const factors = [...names].map((name) => {
    const [from, to] = [amounts(base)[name], amounts(other)[name]];
    if (typeof from !== 'number' || typeof to !== 'number') return null;
    if (from === 0) return to === 0 ? undefined : null;
    return exact(to / from);
  });
  const known = factors.filter((factor) => factor !== undefined);
  const [first = 1] = known;
  return first === null || first <= 0 || first > 100 || known.some((factor) => factor !== first)
    ? null
    : first;
}
