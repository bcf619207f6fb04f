import { type JsonObject, numberAt, objectAt } from './json-object.ts';

/** What one request consumed, in tokens. */
export interface TokenUsage {
  /** All input, what was read from and written to the provider's prompt cache included. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  /** All output, reasoning included. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
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
