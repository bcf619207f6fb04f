import { ChatRequest, type ChatTool } from '@gateway/contracts/openai/chat-wire';
import type { z } from 'zod';
import type { Conversation, OutputFormat } from '../../../neutral/conversation.ts';
import { isOwnEffort, readEffort } from '../../../neutral/encoding/effort.ts';
import { RequestReader } from '../../../neutral/request-reader.ts';
import type { NamedTool, Tool, ToolChoice } from '../../../neutral/tool.ts';
import type { Path } from '../../../wire/path.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';
import { decodeMessages } from './decode-messages.ts';

/** A Chat Completions request, brought into neutral form. @throws GatewayError where it is not one */
export function decodeChatRequest(body: unknown, tokens: OpaqueTokens): Conversation {
  const reader = new RequestReader('chat');
  const request = reader.read(ChatRequest, body);
  const { system, turns } = decodeMessages(request.messages, tokens, reader);
  const tools = (request.tools ?? []).map((tool, index) => decodeTool(tool, ['tools', index]));
  if (request.web_search_options) tools.push(decodeWebSearch(request.web_search_options));
  reportMembers(request, reader);
  const maxOutputTokens = request.max_completion_tokens ?? request.max_tokens;
  const effort = readEffort(request.reasoning_effort);
  const userId = request.safety_identifier || request.user;
  return {
    source: 'chat',
    system,
    turns,
    tools,
    ...(request.tool_choice && { toolChoice: decodeToolChoice(request.tool_choice) }),
    ...(typeof request.parallel_tool_calls === 'boolean' && {
      parallelToolCalls: request.parallel_tool_calls,
    }),
    sampling: {
      ...(typeof request.temperature === 'number' && { temperature: request.temperature }),
      ...(typeof request.top_p === 'number' && { topP: request.top_p }),
      ...(request.presence_penalty && { presencePenalty: request.presence_penalty }),
      ...(request.frequency_penalty && { frequencyPenalty: request.frequency_penalty }),
      ...(typeof request.seed === 'number' && { seed: request.seed }),
    },
    stopSequences: typeof request.stop === 'string' ? [request.stop] : (request.stop ?? []),
    ...(maxOutputTokens && { maxOutputTokens }),
    ...(request.response_format && { outputFormat: decodeFormat(request.response_format) }),
    ...(request.verbosity && { verbosity: request.verbosity }),
    reasoning: { ...(effort === 'none' && { mode: 'off' as const }), ...(effort && { effort }) },
    ...(request.logprobs && { logprobs: request.top_logprobs ?? 0 }),
    ...(userId && { userId }),
    ...(request.service_tier && { serviceTier: request.service_tier }),
    ...(request.moderation && { moderation: request.moderation }),
    ...(request.prompt_cache_key && { promptCacheKey: request.prompt_cache_key }),
    ...(request.prompt_cache_retention && { promptCacheRetention: request.prompt_cache_retention }),
    stream: request.stream ?? false,
    untranslatable: reader.list,
    otherNames: {
      ...(!request.safety_identifier && { userId: ['user'] }),
      ...(!request.max_completion_tokens && { maxOutputTokens: ['max_tokens'] }),
    },
  };
}

function decodeTool(tool: z.infer<typeof ChatTool>, at: Path): Tool {
  if (tool.type === 'function') {
    const { name, description, parameters, strict } = tool.function;
    return {
      type: 'function',
      name,
      at: [...at, 'function'],
      ...(description && { description }),
      ...(parameters && { parameters }),
      ...(typeof strict === 'boolean' && { strict }),
    };
  }
  const { name, description, format } = tool.custom;
  return {
    type: 'custom',
    name,
    at: [...at, 'custom'],
    ...(description && { description }),
    ...(format?.type === 'grammar' && { grammar: format.grammar }),
  };
}

function decodeWebSearch(options: NonNullable<ChatRequest['web_search_options']>): Tool {
  const { user_location: location, search_context_size: contextSize } = options;
  return {
    type: 'web-search',
    name: 'web_search',
    at: ['web_search_options'],
    ...(location?.approximate && { userLocation: location.approximate }),
    ...(contextSize && { contextSize }),
  };
}

type WireChoice = NonNullable<ChatRequest['tool_choice']>;

const named = (
  choice: { type: 'function'; function: { name: string } } | { type: 'custom'; custom: { name: string } },
): NamedTool => ({
  type: choice.type,
  name: choice.type === 'function' ? choice.function.name : choice.custom.name,
});

function decodeToolChoice(choice: WireChoice): ToolChoice {
  if (typeof choice === 'string') return { type: choice };
  if (choice.type !== 'allowed_tools') return { type: 'tool', tool: named(choice) };
  const { mode, tools } = choice.allowed_tools;
  return { type: 'allowed', mode, tools: tools.map(named) };
}

function decodeFormat(format: NonNullable<ChatRequest['response_format']>): OutputFormat {
  switch (format.type) {
    case 'text':
      return { type: 'text' };
    case 'json_object':
      return { type: 'object' };
    case 'json_schema': {
      const { name, description, schema, strict } = format.json_schema;
      const described = description ? { description } : {};
      const strictly = typeof strict === 'boolean' ? { strict } : {};
      return { type: 'schema', name, schema: schema ?? {}, ...strictly, ...described };
    }
  }
}

function reportMembers(request: ChatRequest, reader: RequestReader): void {
  if ((request.n ?? 1) > 1) reader.refuse(['n'], 'The model that would answer gives one answer at a time.');
  if (request.audio || request.modalities?.some((modality) => modality !== 'text')) {
    reader.refuse([request.audio ? 'audio' : 'modalities'], 'The model that would answer can only write.');
  }
  for (const member of ['functions', 'function_call'] as const) {
    if (request[member])
      reader.refuse([member], `'${member}' was replaced by 'tools' and is not supported here.`);
  }
  reader.dropOther(request.user, request.safety_identifier, ['user']);
  reader.dropOther(request.max_tokens, request.max_completion_tokens, ['max_tokens']);
  if (isOwnEffort(request.reasoning_effort))
    reader.drop(['reasoning_effort'], 'an effort that no other protocol knows');
  if (request.stream_options?.include_obfuscation)
    reader.drop(['stream_options', 'include_obfuscation'], 'translated streams are not padded');
  if (request.top_logprobs && !request.logprobs)
    reader.drop(['top_logprobs'], 'counts together with logprobs only');
  if (Object.keys(request.metadata ?? {}).length > 0)
    reader.drop(['metadata'], 'translated answers are not stored');
  if (request.seed != null && typeof request.seed !== 'number')
    reader.drop(['seed'], 'known to the chat protocol only');
  if (request.store) reader.drop(['store'], 'translated answers are not stored');
}
