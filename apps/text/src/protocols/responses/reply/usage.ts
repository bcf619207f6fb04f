import { reportedCount } from '@gateway/contracts/usage/reported-count';
import type { ToolCalls } from '@gateway/contracts/usage/usage-record';
import { isObject, type JsonObject, objectAt } from '../../../wire/json-object.ts';
import { mostCalls, NO_CALLS, ToolCallCounter } from '../../../wire/tool-calls.ts';
import { atTier, type Usage } from '../../../wire/usage.ts';
import { OPENAI_PLACES, readReport } from '../../../wire/usage-places.ts';

/**
 * The usage that a response reports; null where it reports none. `input_tokens` includes cached tokens, as the neutral
 * number does. Calls of built-in tools are items of its output, but for the searches that OpenAI itself counts.
 *
 * @param seen the calls that its stream has shown
 */
export function readUsage(
  { usage, output, tool_usage: tools }: JsonObject,
  seen: ToolCalls = NO_CALLS,
): Usage | null {
  const counter = new ToolCallCounter();
  for (const item of Array.isArray(output) ? output : []) counter.add(item);
  const searches = isObject(tools) ? objectAt(tools, 'web_search')?.num_requests : undefined;
  const counted = typeof searches === 'number' && { web_search: reportedCount(searches) };
  return readReport(usage, OPENAI_PLACES, { calls: { ...mostCalls(seen, counter.counts), ...counted } });
}

/** The same with the tier that the response names. */
export const readUsageAtTier = (response: JsonObject, seen?: ToolCalls): Usage | null =>
  atTier(readUsage(response, seen), response.service_tier);

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
