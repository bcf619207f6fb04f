import { checkAnthropic } from '../checks/check-anthropic.ts';
import type { Rules } from '../checks/rule.ts';
import { asList, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { isKnownModel } from '../models/list-models.ts';
import { invalidMessages, ProviderError } from '../replies/provider-error.ts';

const RULES: Rules = {
  model: { kind: 'string', required: true, min: 1, max: 256 },
  messages: { kind: 'array', required: true },
  max_tokens: { kind: 'integer', required: true, min: 0 },
  system: { kind: 'any' },
  stop_sequences: { kind: 'array' },
  stream: { kind: 'boolean' },
  temperature: { kind: 'decimal', min: 0, max: 1 },
  top_p: { kind: 'decimal', min: 0, max: 1 },
  top_k: { kind: 'integer', min: 0 },
  tools: { kind: 'array' },
  tool_choice: { kind: 'object' },
  thinking: { kind: 'object' },
  output_config: { kind: 'object' },
  metadata: { kind: 'object' },
  service_tier: { kind: 'one-of', values: ['auto', 'standard_only'] },
  speed: { kind: 'one-of', values: ['standard', 'fast'] },
  cache_control: { kind: 'object' },
  container: { kind: 'any' },
  inference_geo: { kind: 'string' },
  diagnostics: { kind: 'object' },
  context_management: { kind: 'object' },
  mcp_servers: { kind: 'array' },
  thread: { kind: 'object' },
  compaction: { kind: 'object' },
  output_format: { kind: 'object' },
  billing_policy: { kind: 'object' },
  fallbacks: { kind: 'any' },
  fallback_credit_token: { kind: 'any' },
};

const { max_tokens: _maxTokens, ...COUNT_RULES } = RULES;

const MIN_BUDGET_TOKENS = 1024;
const BUDGET_RULES: Rules = { budget_tokens: { kind: 'integer', required: true, min: MIN_BUDGET_TOKENS } };
const THINKING_TYPES = ['enabled', 'adaptive', 'disabled', 'between_tools'];
const NEWEST_VERSION = '2026-10-21';
const REMOVED_IN_NEWEST = ['temperature', 'top_p', 'top_k'];

const checkMessages = (messages: readonly unknown[]): void => {
  if (messages.length === 0) throw invalidMessages('messages: at least one message is required');
  messages.forEach((entry, index) => {
    if (!isObject(entry)) throw invalidMessages(`messages.${index}: Input should be a valid dictionary`);
    const { role, content } = entry;
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      throw invalidMessages(`messages.${index}.role: Input should be 'user', 'assistant' or 'system'`);
    }
    if (content === undefined) throw invalidMessages(`messages.${index}.content: Field required`);
    const isLast = index === messages.length - 1;
    if (asList(content).length === 0 && content !== asText(content) && !(isLast && role === 'assistant')) {
      throw invalidMessages(
        `messages.${index}: all messages must have non-empty content except for the optional final assistant message`,
      );
    }
    for (const block of asList(content)) {
      const { type, text } = asObject(block);
      if (type === 'text' && text === '')
        throw invalidMessages('messages: text content blocks must be non-empty');
    }
  });
  const first = asObject(messages[0]);
  const isCompacted = asObject(asList(first.content)[0]).type === 'compaction';
  if (first.role !== 'user' && !isCompacted) {
    throw invalidMessages('messages: first message must use the "user" role');
  }
};

const idsOf = (message: unknown, type: string, name: string): string[] =>
  asList(asObject(message).content)
    .map(asObject)
    .filter((block) => block.type === type)
    .map((block) => asText(block[name]));

/** Every `tool_use` has its `tool_result` in the next message, and each result has its use. */
const checkToolPairs = (messages: readonly unknown[]): void => {
  messages.forEach((message, index) => {
    const uses = idsOf(message, 'tool_use', 'id');
    const results = idsOf(messages[index + 1], 'tool_result', 'tool_use_id');
    const missing = uses.filter((id) => !results.includes(id));
    if (missing.length > 0) {
      throw invalidMessages(
        `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    }
    const known = idsOf(messages[index - 1], 'tool_use', 'id');
    const stray = idsOf(message, 'tool_result', 'tool_use_id').find((id) => !known.includes(id));
    if (stray !== undefined) {
      throw invalidMessages(
        `messages.${index}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    }
  });
};

const checkThinking = (body: JsonObject): void => {
  const { thinking, max_tokens: maxTokens } = body;
  if (!isObject(thinking)) return;
  if (!THINKING_TYPES.includes(asText(thinking.type))) {
    throw invalidMessages(
      `thinking: Input tag '${asText(thinking.type)}' found using 'type' does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'`,
    );
  }
  if (thinking.type !== 'enabled') return;
  checkAnthropic(thinking, BUDGET_RULES, false, 'thinking.enabled.');
  if (typeof maxTokens === 'number' && Number(thinking.budget_tokens) >= maxTokens) {
    throw invalidMessages(
      '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size',
    );
  }
  const choice = asObject(body.tool_choice).type;
  if (choice === 'any' || choice === 'tool') {
    throw invalidMessages('Thinking may not be enabled when tool_choice forces tool use.');
  }
  if (body.temperature !== undefined && body.temperature !== 1) {
    throw invalidMessages('`temperature` may only be set to 1 when thinking is enabled.');
  }
};

const checkTools = ({ tools, tool_choice: choice }: JsonObject): void => {
  const list = asList(tools);
  list.forEach((entry, index) => {
    const tool = asObject(entry);
    if (tool.type === 'function') {
      throw invalidMessages(
        `tools.${index}: Input tag 'function' found using 'type' does not match any of the expected tags: 'bash_20250124', 'custom', 'text_editor_20250728', 'web_search_20250305'`,
      );
    }
    if (tool.type !== undefined && tool.type !== null && tool.type !== 'custom') return;
    if (tool.name === undefined) throw invalidMessages(`tools.${index}.custom.name: Field required`);
    if (tool.input_schema === undefined)
      throw invalidMessages(`tools.${index}.custom.input_schema: Field required`);
  });
  if (!isObject(choice)) return;
  if (list.length === 0) throw invalidMessages('tool_choice may only be specified while providing tools.');
  if (choice.type === 'tool' && !list.some((tool) => asObject(tool).name === choice.name)) {
    throw invalidMessages(`Tool '${asText(choice.name)}' not found in provided tools`);
  }
};

export interface CheckOptions {
  readonly version: string;
  readonly refusesUnknown: boolean;
  /** `count_tokens` takes the same body without `max_tokens`. */
  readonly counts: boolean;
}

/**
 * The checks that Anthropic makes before it calls a model.
 * @throws ProviderError 400, or 404 for a model that does not exist
 */
export const checkMessagesRequest = (body: JsonObject, options: CheckOptions): void => {
  if (options.version === NEWEST_VERSION) {
    const removed = REMOVED_IN_NEWEST.find((name) => body[name] !== undefined);
    if (removed) throw invalidMessages(`${removed}: Extra inputs are not permitted`);
  }
  checkAnthropic(body, options.counts ? COUNT_RULES : RULES, options.refusesUnknown);
  const messages = asList(body.messages);
  checkMessages(messages);
  if (!isKnownModel(asText(body.model))) {
    throw new ProviderError({ status: 404, message: `model: ${asText(body.model)}` });
  }
  checkThinking(body);
  checkTools(body);
  checkToolPairs(messages);
};
