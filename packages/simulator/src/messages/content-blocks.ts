import { type Answer, type AnswerPart, FOUND_PAGE } from '../answer/answer.ts';
import { REDACTED_THINKING_PREFIX, seal, signThinking } from '../answer/signature.ts';
import type { JsonObject } from '../json-value.ts';
import type { Provider } from '../provider.ts';

export interface BlockOptions {
  readonly provider: Provider;
  /** `thinking.display` is `omitted`: signature only. */
  readonly omitsThinking: boolean;
  readonly redactsThinking: boolean;
}

const DIRECT = { type: 'direct' };

const citationOf = (text: string, start: number): JsonObject => ({
  type: 'web_search_result_location',
  ...FOUND_PAGE,
  encrypted_index: 'Eo8BCioIAxgCIiQ3',
  cited_text: text.slice(0, start).trim(),
});

const thinkingBlock = (
  text: string,
  { provider, omitsThinking, redactsThinking }: BlockOptions,
): JsonObject => {
  const secret = provider.signatureSecret;
  if (redactsThinking) {
    return { type: 'redacted_thinking', data: seal(REDACTED_THINKING_PREFIX, text, secret) };
  }
  const thinking = omitsThinking ? '' : text;
  return { type: 'thinking', thinking, signature: signThinking(thinking, secret) };
};

const toBlocks = (part: AnswerPart, options: BlockOptions): JsonObject[] => {
  const { ids } = options.provider;
  switch (part.kind) {
    case 'reasoning':
      return [thinkingBlock(part.text, options)];
    case 'text': {
      const citations = part.citation ? [citationOf(part.text, part.citation.start)] : null;
      return [{ type: 'text', text: part.text, citations }];
    }
    case 'refusal':
      return [{ type: 'text', text: part.text, citations: null }];
    case 'tool-call': {
      const input: unknown = JSON.parse(part.arguments);
      return [{ type: 'tool_use', id: ids.next('toolu_'), name: part.name, input, caller: DIRECT }];
    }
    case 'web-search': {
      const id = ids.next('srvtoolu_');
      const found = {
        type: 'web_search_result',
        ...FOUND_PAGE,
        encrypted_content: 'Ev0DCioIAxgC',
        page_age: null,
      };
      return [
        { type: 'server_tool_use', id, name: 'web_search', input: { query: part.query }, caller: DIRECT },
        { type: 'web_search_tool_result', tool_use_id: id, caller: DIRECT, content: [found] },
      ];
    }
    default:
      return [];
  }
};

/** The answer as content blocks. */
export const contentBlocks = ({ parts }: Answer, options: BlockOptions): JsonObject[] =>
  parts.flatMap((part) => toBlocks(part, options));

const searchesOf = ({ parts }: Answer): JsonObject | null => {
  const web_search_requests = parts.filter(({ kind }) => kind === 'web-search').length;
  return web_search_requests > 0 ? { web_search_requests, web_fetch_requests: 0 } : null;
};

/** The counters of a stream: totals so far, which replace earlier ones. */
export const cumulativeUsage = (answer: Answer): JsonObject => {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = answer.usage;
  return {
    input_tokens: inputTokens - cachedTokens - cacheWriteTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details: reasoningTokens > 0 ? { thinking_tokens: reasoningTokens } : null,
    server_tool_use: searchesOf(answer),
  };
};

/** The whole usage object of a message. */
export const messageUsage = (answer: Answer): JsonObject => {
  const { cacheWriteTokens } = answer.usage;
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, ...output } =
    cumulativeUsage(answer);
  return {
    input_tokens,
    cache_creation_input_tokens,
    cache_read_input_tokens,
    cache_creation: { ephemeral_5m_input_tokens: cacheWriteTokens, ephemeral_1h_input_tokens: 0 },
    ...output,
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
  };
};

/** The usage of `message_start`: the input's figures, and hardly any output yet. */
export const usageAtStart = (answer: Answer): JsonObject => ({
  ...messageUsage(answer),
  output_tokens: Math.min(1, answer.usage.outputTokens),
  output_tokens_details: null,
  server_tool_use: null,
});
