import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { isObject, type JsonObject, objectOf } from '../../../wire/json-object.ts';
import { atTier, type Usage, usageOf } from '../../../wire/usage.ts';

/** How a request was served, in the words by which prices of tiers are known. */
const TIERS: Readonly<Record<string, string>> = {
  ON_DEMAND: 'default',
  ON_DEMAND_PRIORITY: 'priority',
  ON_DEMAND_FLEX: 'flex',
};

/**
 * What a reply, or a stream until one of its frames, has used. Input includes what was cached. Thoughts are beside the output,
 * or, at some endpoints, in it: the total tells. Null where nothing is reported.
 */
export function readUsage(reply: JsonObject): Usage | null {
  const report = reply.usageMetadata;
  if (!isObject(report)) return null;
  const count = (name: string): number => reportedCount(report[name]);
  const inputTokens = count('promptTokenCount') + count('toolUsePromptTokenCount');
  const written = count('candidatesTokenCount');
  const thoughts = count('thoughtsTokenCount');
  const total = count('totalTokenCount');
  if (inputTokens + written + thoughts + total === 0) return null;
  const counts = {
    inputTokens,
    cachedInputTokens: count('cachedContentTokenCount'),
    cacheWriteTokens: 0,
    outputTokens: total > inputTokens ? Math.max(total - inputTokens, written) : written + thoughts,
    reasoningTokens: thoughts,
    webSearches: searchesIn(reply),
  };
  return atTier(usageOf(counts), tierIn(report));
}

const tierIn = ({ trafficType }: JsonObject): string | undefined =>
  typeof trafficType === 'string' ? TIERS[trafficType] : undefined;

/** Each query is a search, and is billed as one. */
function searchesIn({ candidates }: JsonObject): number {
  const [first] = Array.isArray(candidates) ? candidates : [];
  const { webSearchQueries } = objectOf(objectOf(first).groundingMetadata);
  return Array.isArray(webSearchQueries) ? webSearchQueries.length : 0;
}
