import type { Answer, AnswerUsage } from '../answer/answer.ts';
import { asObject, isGiven, isObject, type JsonObject } from '../json-value.ts';

/** Functions are echoed with every member present. */
const echoedTool = (tool: unknown): unknown => {
  if (!isObject(tool) || tool.type !== 'function') return tool;
  return { description: null, parameters: null, strict: true, ...tool };
};

const TIERS: ReadonlyMap<string, string> = new Map([
  ['auto', 'default'],
  ['fast', 'priority'],
]);

const orElse = <Value>(value: unknown, fallback: Value): unknown => (isGiven(value) ? value : fallback);

const conversationId = (named: unknown): unknown => (typeof named === 'string' ? named : asObject(named).id);

/** The response object at its start: the request echoed, without an answer. */
export const startedResponse = (body: JsonObject, id: string, createdAt: number): JsonObject => {
  const reasoning = asObject(body.reasoning);
  const text = asObject(body.text);
  const tier = typeof body.service_tier === 'string' ? body.service_tier : 'auto';
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: null,
    ...(isGiven(body.conversation) && { conversation: { id: conversationId(body.conversation) } }),
    status: 'in_progress',
    background: body.background === true,
    error: null,
    incomplete_details: null,
    instructions: orElse(body.instructions, null),
    max_output_tokens: orElse(body.max_output_tokens, null),
    max_tool_calls: orElse(body.max_tool_calls, null),
    model: body.model,
    output: [],
    parallel_tool_calls: orElse(body.parallel_tool_calls, true),
    previous_response_id: orElse(body.previous_response_id, null),
    presence_penalty: orElse(body.presence_penalty, 0),
    frequency_penalty: orElse(body.frequency_penalty, 0),
    prompt_cache_key: orElse(body.prompt_cache_key, null),
    reasoning: { effort: orElse(reasoning.effort, null), summary: orElse(reasoning.summary, null) },
    safety_identifier: orElse(body.safety_identifier, null),
    service_tier: TIERS.get(tier) ?? tier,
    store: body.store !== false,
    temperature: orElse(body.temperature, 1),
    text: { format: orElse(text.format, { type: 'text' }), verbosity: orElse(text.verbosity, 'medium') },
    tool_choice: orElse(body.tool_choice, 'auto'),
    tools: Array.isArray(body.tools) ? body.tools.map(echoedTool) : [],
    top_logprobs: orElse(body.top_logprobs, 0),
    top_p: orElse(body.top_p, 1),
    truncation: orElse(body.truncation, 'disabled'),
    usage: null,
    user: orElse(body.user, null),
    metadata: orElse(body.metadata, {}),
  };
};

export const responsesUsage = (usage: AnswerUsage): JsonObject => ({
  input_tokens: usage.inputTokens,
  input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens },
  output_tokens: usage.outputTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.inputTokens + usage.outputTokens,
});

/** The same object with the answer. */
export const finishedResponse = (
  started: JsonObject,
  answer: Answer,
  output: readonly JsonObject[],
  nowSeconds: number,
): JsonObject => {
  const isCut = answer.finish === 'length';
  return {
    ...started,
    status: isCut ? 'incomplete' : 'completed',
    completed_at: isCut ? null : nowSeconds,
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output,
    usage: responsesUsage(answer.usage),
  };
};
