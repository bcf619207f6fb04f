import { checkOpenAi } from '../checks/check-openai.ts';
import type { Rules } from '../checks/rule.ts';
import { asList, asObject, asText, type JsonObject } from '../json-value.ts';
import { isKnownModel } from '../models/list-models.ts';
import { invalidRequest, ProviderError } from '../replies/provider-error.ts';

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

const RULES: Rules = {
  model: { kind: 'string', required: true, min: 1 },
  messages: { kind: 'array', required: true, min: 1 },
  max_completion_tokens: { kind: 'integer', min: 1 },
  max_tokens: { kind: 'integer', min: 1 },
  temperature: { kind: 'decimal', min: 0, max: 2 },
  top_p: { kind: 'decimal', min: 0, max: 1 },
  n: { kind: 'integer', min: 1, max: 128 },
  stop: { kind: 'any' },
  stream: { kind: 'boolean' },
  stream_options: { kind: 'object' },
  tools: { kind: 'array', max: 128 },
  tool_choice: { kind: 'any' },
  parallel_tool_calls: { kind: 'boolean' },
  response_format: { kind: 'object' },
  reasoning_effort: { kind: 'one-of', values: EFFORTS },
  presence_penalty: { kind: 'decimal', min: -2, max: 2 },
  frequency_penalty: { kind: 'decimal', min: -2, max: 2 },
  top_logprobs: { kind: 'integer', min: 0, max: 20 },
  logprobs: { kind: 'boolean' },
  logit_bias: { kind: 'object' },
  seed: { kind: 'integer' },
  modalities: { kind: 'array' },
  audio: { kind: 'object' },
  prediction: { kind: 'object' },
  web_search_options: { kind: 'object' },
  service_tier: { kind: 'string' },
  store: { kind: 'boolean' },
  metadata: { kind: 'object' },
  safety_identifier: { kind: 'string' },
  user: { kind: 'string' },
  prompt_cache_key: { kind: 'string' },
  prompt_cache_retention: { kind: 'string' },
  verbosity: { kind: 'one-of', values: ['low', 'medium', 'high'] },
};

/** Every `tool_calls` entry has its tool message directly after it, and each tool message has its call. */
const checkToolPairs = (messages: readonly JsonObject[]): void => {
  let open: string[] = [];
  messages.forEach(({ role, tool_calls: calls, tool_call_id: callId }, index) => {
    if (role === 'tool') {
      if (!open.includes(asText(callId))) {
        throw invalidRequest(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          null,
          `messages.[${index}].role`,
        );
      }
      open = open.filter((id) => id !== callId);
      return;
    }
    if (open.length > 0) throw unanswered(open);
    open = asList(calls).map((call) => asText(asObject(call).id));
  });
  if (open.length > 0) throw unanswered(open);
};

const unanswered = (ids: readonly string[]) =>
  invalidRequest(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
    null,
    'messages',
  );

/** @throws ProviderError 400, or 404 for a model that does not exist */
export const checkChatRequest = (body: JsonObject, refusesUnknown: boolean): void => {
  checkOpenAi(body, RULES, refusesUnknown);
  const model = asText(body.model);
  if (!isKnownModel(model)) {
    throw new ProviderError({
      status: 404,
      message: `The model \`${model}\` does not exist or you do not have access to it.`,
      code: 'model_not_found',
    });
  }
  checkToolPairs(asList(body.messages).map(asObject));
};
