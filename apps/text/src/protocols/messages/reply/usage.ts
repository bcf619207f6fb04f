import { lookUp } from '@gateway/contracts/look-up';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import type { ToolCalls } from '@gateway/contracts/usage/usage-record';
import type { AnswerPlan } from '../../../neutral/target.ts';
import type { JsonObject } from '../../../wire/json-object.ts';
import { mergedCounters } from '../../../wire/merged-counters.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';
import { NO_CALLS, OPENED_PAGE } from '../../../wire/tool-calls.ts';
import { addUsage, atTier, laterUsage, type Usage } from '../../../wire/usage.ts';
import { MESSAGES_PLACES, readReport, usageOfCalls } from '../../../wire/usage-places.ts';

/**
 * The usage that the `usage` object of a message reports; null where it reports none. `input_tokens` excludes what was read from
 * and written to the cache; the neutral number includes it.
 *
 * @param calls those of the provider's tools that the message shows: they count where the object says nothing of their tool
 */
export function readUsage(usage: unknown, calls: ToolCalls = NO_CALLS): Usage | null {
  if (!isJsonObject(usage)) return usageOfCalls(calls);
  const answered = readReport(usage, MESSAGES_PLACES, { excludesCache: true, calls });
  return Array.isArray(usage.iterations) ? withCompactions(answered, usage.iterations) : answered;
}

/** The same with the tier that the object names; the fast mode has prices of its own, as a tier has. */
export const readUsageAtTier = (usage: unknown, calls?: ToolCalls): Usage | null => {
  const used = readUsage(usage, calls);
  return isJsonObject(usage) ? atTier(used, usage.speed === 'fast' ? 'fast' : usage.service_tier) : used;
};

/** What a message that may go on has used: calls of the provider's tools that it shows count before a report does. */
export const usageSoFar = (reported: Usage | null, seen: ToolCalls): Usage | null =>
  laterUsage(reported, usageOfCalls(seen));

/** The other counters do not have what compactions used. */
function withCompactions(answered: Usage | null, iterations: readonly unknown[]): Usage | null {
  const compactions = iterations.filter(isJsonObject).filter(({ type }) => type === 'compaction');
  return compactions.reduce<Usage | null>((sum, { iterations: _, ...compaction }) => {
    const used = readUsage(compaction);
    return sum && used ? addUsage(sum, used) : sum;
  }, answered);
}

/** The counters of input, each token in one of them. */
const INPUT_COUNTERS = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const;

/**
 * The `usage` objects of one stream as one. Counters are cumulative, so a later one that is smaller says nothing; a later report
 * may name other counters, and split the same input again.
 */
export function mergeUsage(earlier: JsonObject | null, later: unknown): JsonObject | null {
  if (!isJsonObject(later)) return earlier;
  if (earlier === null) return later;
  const merged = mergedCounters(earlier, later);
  const namesAll = INPUT_COUNTERS.every((name) => (later[name] ?? null) !== null);
  if (!namesAll || inputIn(later) < inputIn(earlier)) return merged;
  return { ...merged, ...Object.fromEntries(INPUT_COUNTERS.map((name) => [name, later[name]])) };
}

const inputIn = (usage: JsonObject): number =>
  INPUT_COUNTERS.reduce((sum, name) => sum + reportedCount(usage[name]), 0);

function encodeCalls({ webSearches, otherCalls = {} }: Usage) {
  const { web_fetch: fetches = 0, [OPENED_PAGE]: openedPages = 0 } = otherCalls;
  const searches = webSearches + openedPages;
  return searches + fetches > 0 ? { web_search_requests: searches, web_fetch_requests: fetches } : null;
}

/** Every counter that clients read, complete, as in `message_delta`. */
export const encodeUsage = (usage: Usage) => ({
  input_tokens: Math.max(0, usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteTokens),
  cache_creation_input_tokens: usage.cacheWriteTokens,
  cache_read_input_tokens: usage.cachedInputTokens,
  output_tokens: usage.outputTokens,
  output_tokens_details: usage.reasoningTokens > 0 ? { thinking_tokens: usage.reasoningTokens } : null,
  server_tool_use: encodeCalls(usage),
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

const encodeCacheCreation = ({ cacheWriteTokens, cacheWrite1hTokens = 0 }: Usage) => ({
  ephemeral_5m_input_tokens: cacheWriteTokens - cacheWrite1hTokens,
  ephemeral_1h_input_tokens: cacheWrite1hTokens,
});

/** The usage object of a whole message. */
export const encodeMessageUsage = (usage: Usage, serviceTier: string | undefined) => {
  const { output_tokens, output_tokens_details, server_tool_use, ...input } = encodeUsage(usage);
  return {
    ...input,
    cache_creation: encodeCacheCreation(usage),
    output_tokens,
    output_tokens_details,
    server_tool_use,
    service_tier: encodeTier(serviceTier),
    inference_geo: null,
    speed: null,
  };
};
