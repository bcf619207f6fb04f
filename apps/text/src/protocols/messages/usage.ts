import type { MessagesUsage } from '@gateway/contracts/anthropic/messages-wire';
import { lookUp } from '@gateway/contracts/look-up';
import { tokenCount, type Usage } from '../conversation/reply.ts';

/**
 * Anthropic's `input_tokens` excludes what was read from and written to the cache; the neutral number includes it.
 * Counters are cumulative, so members of a later report replace those of an earlier one.
 */
export function decodeUsage(usage: MessagesUsage, earlier: MessagesUsage = {}): Usage {
  const latest = (
    member: 'input_tokens' | 'cache_read_input_tokens' | 'cache_creation_input_tokens' | 'output_tokens',
  ): number => tokenCount(usage[member] ?? earlier[member]);
  const cachedInputTokens = latest('cache_read_input_tokens');
  const cacheWriteTokens = latest('cache_creation_input_tokens');
  return {
    inputTokens: latest('input_tokens') + cachedInputTokens + cacheWriteTokens,
    cachedInputTokens,
    cacheWriteTokens,
    outputTokens: latest('output_tokens'),
    reasoningTokens: tokenCount(
      (usage.output_tokens_details ?? earlier.output_tokens_details)?.thinking_tokens,
    ),
    webSearches: tokenCount((usage.server_tool_use ?? earlier.server_tool_use)?.web_search_requests),
    reported: true,
  };
}

/** Every counter that clients read, complete, as in `message_delta`. */
export const encodeUsage = (usage: Usage) => ({
  input_tokens: Math.max(0, usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteTokens),
  cache_creation_input_tokens: usage.cacheWriteTokens,
  cache_read_input_tokens: usage.cachedInputTokens,
  output_tokens: usage.outputTokens,
  output_tokens_details: usage.reasoningTokens > 0 ? { thinking_tokens: usage.reasoningTokens } : null,
  server_tool_use:
    usage.webSearches > 0 ? { web_search_requests: usage.webSearches, web_fetch_requests: 0 } : null,
});

/** The tier names differ: Anthropic says standard where OpenAI says default. */
const TIER_TO_NEUTRAL: Record<string, string> = {
  standard: 'default',
  priority: 'priority',
  batch: 'default',
};
const TIER_FROM_NEUTRAL: Record<string, string> = { priority: 'priority', fast: 'priority' };

export const decodeTier = (tier: string | null | undefined): string | undefined =>
  lookUp(TIER_TO_NEUTRAL, tier);

export const encodeTier = (tier: string | undefined): string => lookUp(TIER_FROM_NEUTRAL, tier) ?? 'standard';

/** The usage object of a whole message. */
export const encodeMessageUsage = (usage: Usage, serviceTier: string | undefined) => {
  const { output_tokens, output_tokens_details, server_tool_use, ...input } = encodeUsage(usage);
  return {
    ...input,
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWriteTokens, ephemeral_1h_input_tokens: 0 },
    output_tokens,
    output_tokens_details,
    server_tool_use,
    service_tier: encodeTier(serviceTier),
    inference_geo: null,
    speed: null,
  };
};
