import type { ResponsesUsage } from '@gateway/contracts/openai/responses-wire';
import type { z } from 'zod';
import { tokenCount, type Usage } from '../conversation/reply.ts';

/** `input_tokens` includes cached tokens, as the neutral number does. */
export const decodeUsage = (usage: z.infer<typeof ResponsesUsage>, webSearches: number): Usage => ({
  inputTokens: tokenCount(usage.input_tokens),
  cachedInputTokens: tokenCount(usage.input_tokens_details?.cached_tokens),
  cacheWriteTokens: tokenCount(usage.input_tokens_details?.cache_write_tokens),
  outputTokens: tokenCount(usage.output_tokens),
  reasoningTokens: tokenCount(usage.output_tokens_details?.reasoning_tokens),
  webSearches,
  reported: true,
});

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
