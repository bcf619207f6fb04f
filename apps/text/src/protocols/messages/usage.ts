import { lookUp } from '@gateway/contracts/look-up';
import { type JsonObject, objectOf } from '../../wire/json-object.ts';
import { isJsonObject } from '../../wire/raw-json.ts';
import { atTier, tokenCount, type Usage, usageOf } from '../../wire/usage.ts';

/**
 * What the `usage` object of a message says that it used; null where it is none. `input_tokens` excludes what was read
 * from and written to the cache; the neutral number includes it.
 */
export function readUsage(usage: unknown): Usage | null {
  if (!isJsonObject(usage)) return null;
  if ((usage.input_tokens ?? usage.output_tokens ?? null) === null) return null;
  const cachedInputTokens = tokenCount(usage.cache_read_input_tokens);
  const cacheWriteTokens = tokenCount(usage.cache_creation_input_tokens);
  const counts = {
    inputTokens: tokenCount(usage.input_tokens) + cachedInputTokens + cacheWriteTokens,
    cachedInputTokens,
    cacheWriteTokens,
    outputTokens: tokenCount(usage.output_tokens),
    reasoningTokens: tokenCount(objectOf(usage.output_tokens_details).thinking_tokens),
    webSearches: tokenCount(objectOf(usage.server_tool_use).web_search_requests),
  };
  return usageOf(counts);
}

/** The same with the tier that the object names. */
export const readUsageAtTier = (usage: unknown): Usage | null =>
  atTier(readUsage(usage), isJsonObject(usage) && usage.service_tier);

/** The `usage` objects of one stream as one: counters are cumulative, so a later report replaces what it names. */
export function mergeUsage(earlier: JsonObject | null, later: unknown): JsonObject | null {
  if (!isJsonObject(later)) return earlier;
  const named = Object.entries(later).filter(([, value]) => value !== null);
  return { ...earlier, ...Object.fromEntries(named) };
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

export const decodeTier = (tier: unknown): string | undefined =>
  typeof tier === 'string' ? lookUp(TIER_TO_NEUTRAL, tier) : undefined;

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
