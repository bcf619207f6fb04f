import { type JsonObject, numberAt, objectAt, textAt } from './json-object.ts';

/** What one request consumed, in tokens. */
export interface TokenUsage {
  /** All input, what was read from and written to the provider's prompt cache included. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  /** All output, reasoning included. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** What the upstream says it served the request as, where it says so. */
  readonly serviceTier?: string | undefined;
}

/** Responses and chat completions name the tier beside their usage, messages within it. */
const serviceTierOf = (reply: JsonObject, usage: JsonObject): string | undefined =>
  textAt(reply, 'service_tier') ?? textAt(usage, 'service_tier') ?? undefined;

/** The usage that a reply, whole or as the last event has it, reports; null where it reports none. */
export function usageBy(read: (usage: JsonObject) => TokenUsage): (reply: JsonObject) => TokenUsage | null {
  return (reply) => {
    const usage = objectAt(reply, 'usage');
    return usage && { ...read(usage), serviceTier: serviceTierOf(reply, usage) };
  };
}

/** `usage` of a response: `input_tokens` includes cached ones. */
export function usageOfResponse(usage: JsonObject): TokenUsage {
  const input = objectAt(usage, 'input_tokens_details');
  const output = objectAt(usage, 'output_tokens_details');
  return {
    inputTokens: numberAt(usage, 'input_tokens') ?? 0,
    cachedInputTokens: (input && numberAt(input, 'cached_tokens')) ?? 0,
    cacheWriteTokens: (input && numberAt(input, 'cache_write_tokens')) ?? 0,
    outputTokens: numberAt(usage, 'output_tokens') ?? 0,
    reasoningTokens: (output && numberAt(output, 'reasoning_tokens')) ?? 0,
  };
}

/** `usage` of a message: `input_tokens` excludes what was read from or written to the cache, hence the sum. */
export function usageOfMessage(usage: JsonObject): TokenUsage {
  const cached = numberAt(usage, 'cache_read_input_tokens') ?? 0;
  const written = numberAt(usage, 'cache_creation_input_tokens') ?? 0;
  const details = objectAt(usage, 'output_tokens_details');
  return {
    inputTokens: (numberAt(usage, 'input_tokens') ?? 0) + cached + written,
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    outputTokens: numberAt(usage, 'output_tokens') ?? 0,
    reasoningTokens: (details && numberAt(details, 'thinking_tokens')) ?? 0,
  };
}

/**
 * `usage` of a chat completion. Some servers count cached input under a name of their own, and some leave reasoning out
 * of `completion_tokens`, which shows in the total.
 */
export function usageOfCompletion(usage: JsonObject): TokenUsage {
  const prompt = objectAt(usage, 'prompt_tokens_details');
  const completion = objectAt(usage, 'completion_tokens_details');
  const inputTokens = numberAt(usage, 'prompt_tokens') ?? 0;
  const answered = numberAt(usage, 'completion_tokens') ?? 0;
  const uncounted = Math.max(0, (numberAt(usage, 'total_tokens') ?? 0) - inputTokens - answered);
  return {
    inputTokens,
    cachedInputTokens:
      (prompt && numberAt(prompt, 'cached_tokens')) ?? numberAt(usage, 'prompt_cache_hit_tokens') ?? 0,
    cacheWriteTokens: (prompt && numberAt(prompt, 'cache_write_tokens')) ?? 0,
    outputTokens: answered + uncounted,
    reasoningTokens: (completion && numberAt(completion, 'reasoning_tokens')) ?? uncounted,
  };
}

/** English text has about so many characters per token. */
const CHARACTERS_PER_TOKEN = 4;

/** For an upstream that did not say, or not to the end, what it used: at least what it did say. */
export function estimatedUsage(
  reported: TokenUsage | null,
  { inputLength, outputLength }: { inputLength: number; outputLength: number },
): TokenUsage {
  return {
    inputTokens: reported?.inputTokens || Math.ceil(inputLength / CHARACTERS_PER_TOKEN),
    cachedInputTokens: reported?.cachedInputTokens ?? 0,
    cacheWriteTokens: reported?.cacheWriteTokens ?? 0,
    outputTokens: Math.max(reported?.outputTokens ?? 0, Math.ceil(outputLength / CHARACTERS_PER_TOKEN)),
    reasoningTokens: reported?.reasoningTokens ?? 0,
  };
}
