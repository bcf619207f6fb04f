import { type JsonObject, objectOf } from '../../../wire/json-object.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';
import { atTier, tokenCount, type Usage, usageOf } from '../../../wire/usage.ts';

/**
 * The usage that a response reports; null where it reports none. `input_tokens` includes cached tokens, as the
 * neutral number does.
 */
export function readUsage({ usage }: JsonObject, webSearches = 0): Usage | null {
  if (!isJsonObject(usage)) return null;
  if ((usage.input_tokens ?? usage.output_tokens ?? null) === null) return null;
  const input = objectOf(usage.input_tokens_details);
  const counts = {
    inputTokens: tokenCount(usage.input_tokens),
    cachedInputTokens: tokenCount(input.cached_tokens),
    cacheWriteTokens: tokenCount(input.cache_write_tokens),
    outputTokens: tokenCount(usage.output_tokens),
    reasoningTokens: tokenCount(objectOf(usage.output_tokens_details).reasoning_tokens),
    webSearches,
  };
  return usageOf(counts);
}

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
