import type { Price } from '@gateway/contracts/models/price';
import type { UnitPrices } from '@gateway/contracts/usage/usage-detail';
import { type Consumption, NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { costMicroUsd } from '@gateway/metering/price/cost';
import { unitPricesOf } from '@gateway/metering/price/unit-prices';
import { callsOf, NO_CALLS, usedCalls } from '../wire/tool-calls.ts';
import { NO_USAGE, type Usage } from '../wire/usage.ts';

/** A call's usage as its record has it. */
export function consumptionOf({
  reported: _,
  webSearches,
  otherCalls,
  serviceTier: __,
  ...amounts
}: Usage): Consumption {
  const toolCalls = callsOf({ webSearches, otherCalls });
  return { ...NOTHING_CONSUMED, ...amounts, ...(toolCalls && { toolCalls }) };
}

/** A record's consumption as a call's usage. */
export function usageOfConsumption({ images: _, characters: __, ...amounts }: Consumption): Usage {
  const { audioMs, toolCalls = NO_CALLS, ...tokens } = amounts;
  return { ...NO_USAGE, ...tokens, ...usedCalls(toolCalls), ...(audioMs > 0 && { audioMs }) };
}

/** In micro-dollars, at the tier that the upstream named; null where the model has no price. */
export const costOf = (price: Price | null, usage: Usage): number | null =>
  price && costMicroUsd(price, consumptionOf(usage), { serviceTier: usage.serviceTier });

/** The unit prices of `costOf`; null where the model has no price. */
export const pricesOf = (price: Price | null, usage: Usage): UnitPrices | null =>
  price && unitPricesOf(price, consumptionOf(usage), { serviceTier: usage.serviceTier });

/** English text has about so many characters per token. */
const CHARACTERS_PER_TOKEN = 4;

export const estimatedTokens = (characters: number): number => Math.ceil(characters / CHARACTERS_PER_TOKEN);

/** What is estimated where the upstream reports nothing, or what cannot be true. */
export interface Estimates {
  /** Tokens of the request. */
  readonly inputTokens: number;
  /** Characters of the answer. It is only called if its tokens are not known. */
  readonly outputLength: () => number;
}

export interface KnownUsage {
  readonly usage: Usage;
  /** Some part of it is the gateway's own number. */
  readonly estimated: boolean;
}

/**
 * What an answer used: as reported, as far as that can be true. No request has no input, and no answer with text has no
 * output: such a part is estimated, the other one stays as it is reported.
 *
 * @param isFinal whether the report was made at the answer's end; an earlier one is a least
 */
export function knownUsage(
  reported: Usage | null,
  isFinal: boolean,
  { inputTokens, outputLength }: Estimates,
): KnownUsage {
  const known = reported ?? NO_USAGE;
  const input = known.inputTokens || inputTokens;
  const isWhole = known.reported && isFinal && known.outputTokens > 0;
  const output = isWhole ? known.outputTokens : Math.max(known.outputTokens, estimatedTokens(outputLength()));
  const isTrue = known.reported && isFinal && input === known.inputTokens && output === known.outputTokens;
  if (isTrue) return { usage: known, estimated: false };
  return {
    usage: { ...known, inputTokens: input, outputTokens: output, reported: false },
    estimated: true,
  };
}
