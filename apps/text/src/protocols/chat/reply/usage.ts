import { type JsonObject, objectOf } from '../../../wire/json-object.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';
import { atTier, tokenCount, type Usage, usageOf } from '../../../wire/usage.ts';

/**
 * The usage that a completion, or a chunk of one, reports; null where it reports none. Some servers count cached
 * input under a name of their own, and some leave reasoning out of `completion_tokens`, which shows in the total.
 */
export function readUsage({ usage }: JsonObject): Usage | null {
  if (!isJsonObject(usage)) return null;
  if ((usage.prompt_tokens ?? usage.completion_tokens ?? null) === null) return null;
  const prompt = objectOf(usage.prompt_tokens_details);
  const { reasoning_tokens: reasoning } = objectOf(usage.completion_tokens_details);
  const inputTokens = tokenCount(usage.prompt_tokens);
  const completion = tokenCount(usage.completion_tokens);
  const uncounted = Math.max(0, tokenCount(usage.total_tokens) - inputTokens - completion);
  const counts = {
    inputTokens,
    cachedInputTokens: tokenCount(prompt.cached_tokens ?? usage.prompt_cache_hit_tokens),
    cacheWriteTokens: tokenCount(prompt.cache_write_tokens),
    outputTokens: completion + uncounted,
    reasoningTokens: tokenCount(reasoning ?? uncounted),
    webSearches: 0,
  };
  return usageOf(counts);
}

/** The same with the tier that the completion names. */
export const readUsageAtTier = (completion: JsonObject): Usage | null =>
  atTier(readUsage(completion), completion.service_tier);

export const encodeUsage = (usage: Usage) => ({
  prompt_tokens: usage.inputTokens,
  completion_tokens: usage.outputTokens,
  total_tokens: usage.inputTokens + usage.outputTokens,
  prompt_tokens_details: {
    cached_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    audio_tokens: 0,
  },
  completion_tokens_details: {
    reasoning_tokens: usage.reasoningTokens,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
});
