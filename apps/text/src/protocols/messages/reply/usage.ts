import { lookUp } from '@gateway/contracts/look-up';
import type { AnswerPlan } from '../../../conversation/target.ts';
import { type JsonObject, objectOf } from '../../../wire/json-object.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';
import { addUsage, atTier, tokenCount, type Usage, usageOf } from '../../../wire/usage.ts';

/**
 * The usage that the `usage` object of a message reports; null where it is no object. `input_tokens` excludes what was read
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
  const answered = usageOf(counts);
  return Array.isArray(usage.iterations) ? withCompactions(answered, usage.iterations) : answered;
}

/** The other counters do not have what compactions used. */
function withCompactions(answered: Usage | null, iterations: readonly unknown[]): Usage | null {
  const compactions = iterations.filter(isJsonObject).filter(({ type }) => type === 'compaction');
  return compactions.reduce<Usage | null>((sum, { iterations: _, ...compaction }) => {
    const used = readUsage(compaction);
    return sum && used && addUsage(sum, used);
  }, answered);
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

/**
 * The requests of one answer, where its conversation was compacted first; undefined where it was not. What the summary
 * used is nowhere else in a message's usage.
 */
export const encodeIterations = (
  { compaction, model }: Pick<AnswerPlan, 'compaction' | 'model'>,
  answer: Usage | null,
) =>
  compaction && {
    iterations: [
      { type: 'compaction', ...iteration(compaction.usage) },
      ...(answer === null ? [] : [{ type: 'message', model, ...iteration(answer) }]),
    ],
  };

const iteration = (usage: Usage) => {
  const { output_tokens_details: _, server_tool_use: __, ...counts } = encodeUsage(usage);
  return { ...counts, cache_creation: null };
};

/** The tier names differ: Anthropic has standard where OpenAI has default. */
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
