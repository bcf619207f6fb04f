import type { ChatUsage } from '@gateway/contracts/openai/chat-wire';
import type { z } from 'zod';
import { tokenCount, type Usage } from '../conversation/reply.ts';

/**
 * Token counts as chat servers give them. Some count cached input under a name of their own, and some leave reasoning
 * out of `completion_tokens`, which shows in the total.
 */
export function decodeUsage(usage: z.infer<typeof ChatUsage>): Usage {
  const inputTokens = tokenCount(usage.prompt_tokens);
  const completion = tokenCount(usage.completion_tokens);
  const uncounted = Math.max(0, tokenCount(usage.total_tokens) - inputTokens - completion);
  const details = usage.prompt_tokens_details;
  return {
    inputTokens,
    cachedInputTokens: tokenCount(details?.cached_tokens ?? usage.prompt_cache_hit_tokens),
    cacheWriteTokens: tokenCount(details?.cache_write_tokens),
    outputTokens: completion + uncounted,
    reasoningTokens: tokenCount(usage.completion_tokens_details?.reasoning_tokens ?? uncounted),
    webSearches: 0,
    reported: true,
  };
}

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
