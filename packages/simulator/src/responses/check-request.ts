import { checkOpenAi, missingParameter } from '../checks/check-openai.ts';
import type { Rules } from '../checks/rule.ts';
import { asList, asObject, asText, isGiven, type JsonObject } from '../json-value.ts';
import { isKnownModel } from '../models/list-models.ts';
import { invalidRequest, ProviderError } from '../replies/provider-error.ts';

const RULES: Rules = {
  model: { kind: 'string', required: true, min: 1 },
  input: { kind: 'any' },
  instructions: { kind: 'any' },
  max_output_tokens: { kind: 'integer', min: 16 },
  max_tool_calls: { kind: 'integer', min: 1 },
  temperature: { kind: 'decimal', min: 0, max: 2 },
  top_p: { kind: 'decimal', min: 0, max: 1 },
  top_logprobs: { kind: 'integer', min: 0, max: 20 },
  presence_penalty: { kind: 'decimal', min: -2, max: 2 },
  frequency_penalty: { kind: 'decimal', min: -2, max: 2 },
  stream: { kind: 'boolean' },
  stream_options: { kind: 'object' },
  store: { kind: 'boolean' },
  background: { kind: 'boolean' },
  previous_response_id: { kind: 'string' },
  conversation: { kind: 'any' },
  tools: { kind: 'array', max: 128 },
  tool_choice: { kind: 'any' },
  parallel_tool_calls: { kind: 'boolean' },
  reasoning: { kind: 'object' },
  text: { kind: 'object' },
  include: { kind: 'array' },
  metadata: { kind: 'object' },
  truncation: { kind: 'one-of', values: ['auto', 'disabled'] },
  prompt: { kind: 'object' },
  prompt_cache_key: { kind: 'string' },
  prompt_cache_options: { kind: 'object' },
  prompt_cache_retention: { kind: 'string' },
  safety_identifier: { kind: 'string', max: 128 },
  user: { kind: 'string' },
  service_tier: { kind: 'string' },
  context_management: { kind: 'array' },
  moderation: { kind: 'object' },
  access_programs: { kind: 'any' },
  image: { kind: 'object' },
  client_metadata: { kind: 'any' },
};

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const EFFORT_RULES: Rules = { 'reasoning.effort': { kind: 'one-of', values: EFFORTS } };

const checkTools = (tools: readonly unknown[]): void => {
  tools.forEach((tool, index) => {
    const { type, name, vector_store_ids: stores } = asObject(tool);
    if (!isGiven(type)) throw missingParameter(`tools[${index}].type`);
    if ((type === 'function' || type === 'custom') && !isGiven(name))
      throw missingParameter(`tools[${index}].name`);
    if (type === 'file_search' && asList(stores).length === 0) {
      throw missingParameter(`tools[${index}].vector_store_ids`);
    }
  });
};

const checkToolChoice = (choice: unknown, tools: readonly unknown[]): void => {
  const { type, name } = asObject(choice);
  if (type === undefined || type === 'allowed_tools' || type === 'mcp') return;
  const wanted = type === 'function' || type === 'custom' ? asText(name) : asText(type);
  const found = tools.some((tool) => {
    const { type: toolType, name: toolName } = asObject(tool);
    return toolName === wanted || asText(toolType).startsWith(wanted) || wanted.startsWith(asText(toolType));
  });
  if (!found) {
    throw invalidRequest(`Tool choice '${wanted}' not found in 'tools' parameter.`, null, 'tool_choice');
  }
};

/**
 * The checks that OpenAI makes before it calls a model.
 * @throws ProviderError 400 (also for a model that does not exist: this endpoint has no 404)
 */
export const checkResponsesRequest = (body: JsonObject, refusesUnknown: boolean): void => {
  checkOpenAi(body, RULES, refusesUnknown);
  const { input, model, background, store, previous_response_id: previous, conversation } = body;
  if (!isKnownModel(asText(model))) {
    throw invalidRequest(
      `The requested model '${asText(model)}' does not exist.`,
      'model_not_found',
      'model',
    );
  }
  const hasContext = isGiven(previous) || isGiven(conversation) || isGiven(body.prompt);
  if (!isGiven(input) && !hasContext) throw missingParameter('input');
  if (isGiven(input) && typeof input !== 'string' && !Array.isArray(input)) {
    throw invalidRequest(
      "Invalid type for 'input': expected one of a string or array of objects, but got an object instead.",
      'invalid_type',
      'input',
    );
  }
  if (Array.isArray(input) && input.length === 0 && !hasContext) {
    throw invalidRequest(
      "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      'empty_array',
      'input',
    );
  }
  if (isGiven(previous) && isGiven(conversation)) {
    throw invalidRequest(
      "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.",
      'mutually_exclusive_parameters',
      null,
    );
  }
  if (background === true && store === false) {
    throw invalidRequest("Background mode requires 'store' to be true.", 'invalid_value', 'background');
  }
  if (isGiven(body.stream_options) && body.stream !== true) {
    throw new ProviderError({
      status: 400,
      message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      param: 'stream_options',
    });
  }
  const { effort } = asObject(body.reasoning);
  if (isGiven(effort)) checkOpenAi({ 'reasoning.effort': effort }, EFFORT_RULES);
  const tools = asList(body.tools);
  checkTools(tools);
  checkToolChoice(body.tool_choice, tools);
};
