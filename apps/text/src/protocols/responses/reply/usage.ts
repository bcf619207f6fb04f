import type { JsonObject } from '../../../wire/json-object.ts';
import { atTier, type Usage } from '../../../wire/usage.ts';
import { OPENAI_PLACES, readReport } from '../../../wire/usage-places.ts';

/**
 * The usage that a response reports; null where it reports none. `input_tokens` includes cached tokens, as the neutral
 * number does.
 */
export const readUsage = ({ usage }: JsonObject, webSearches = 0): Usage | null =>
  readReport(usage, OPENAI_PLACES, { webSearches });

/** The same with the tier that the response names. */
export const readUsageAtTier = (response: JsonObject): Usage | null =>
  atTier(readUsage(response), response.service_tier);

/** Complete and in integers: a client rejects the whole response where a detail is missing. */
export const encodeUsage = (usage: Usage) => ({
  input_tokens: usage.inputTokens,
  input_tokens_details: {
    cached_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
  },
  output_tokens: usage.outputTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.inputTokens + usage.outputTokens,
});
