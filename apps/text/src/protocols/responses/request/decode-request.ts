import { ResponsesRequestWire } from '@gateway/contracts/openai/responses-wire';
import type { Conversation, OutputFormat, ReasoningControl } from '../../../neutral/conversation.ts';
import { isOwnEffort, readEffort } from '../../../neutral/encoding/effort.ts';
import type { TextPart } from '../../../neutral/parts.ts';
import { RequestReader } from '../../../neutral/request-reader.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';
import { ItemReader } from './decode-items.ts';
import { decodeTool, decodeToolChoice } from './decode-tools.ts';

/** What a request may have included, and gets. */
const ANSWERED_INCLUDES: ReadonlySet<string> = new Set([
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
  'web_search_call.action.sources',
]);

export const includes = (request: { include?: string[] | null | undefined }, what: string): boolean =>
  request.include?.includes(what) ?? false;

/** A Responses request in effective form, brought into neutral form. @throws GatewayError where it is not one */
export function decodeResponsesRequest(body: unknown, tokens: OpaqueTokens): Conversation {
  const reader = new RequestReader('responses');
  const request = reader.read(ResponsesRequestWire, body);
  const items = new ItemReader(tokens, reader);
  const { input } = request;
  if (typeof input === 'string') items.read({ role: 'user', content: input }, ['input']);
  else for (const [index, item] of (input ?? []).entries()) items.read(item, ['input', index]);
  const settled = {
    ...request,
    reasoning: { ...request.reasoning, ...items.settings.reasoning },
    text: { ...request.text, ...items.settings.text },
  };
  const instructions: TextPart[] = request.instructions
    ? [{ type: 'text', text: request.instructions, at: ['instructions'] }]
    : [];
  const tools = (request.tools ?? []).flatMap((tool, index) => decodeTool(tool, ['tools', index], reader));
  reportMembers(request, reader);
  const userId = request.safety_identifier || request.user;
  return {
    source: 'responses',
    system: [...instructions, ...items.system],
    turns: items.turns,
    tools: [...tools, ...items.tools],
    ...(request.tool_choice && { toolChoice: decodeToolChoice(request.tool_choice, reader) }),
    ...(typeof request.parallel_tool_calls === 'boolean' && {
      parallelToolCalls: request.parallel_tool_calls,
    }),
    sampling: decodeSampling(request),
    stopSequences: [],
    ...(request.max_output_tokens && { maxOutputTokens: request.max_output_tokens }),
    ...(settled.text.format && { outputFormat: decodeFormat(settled.text.format) }),
    ...(request.text?.verbosity && { verbosity: request.text.verbosity }),
    reasoning: decodeReasoning(settled),
    ...decodeLogprobs(request),
    ...(userId && { userId }),
    ...(request.service_tier && { serviceTier: request.service_tier }),
    ...(request.moderation && { moderation: request.moderation }),
    ...(request.prompt_cache_key && { promptCacheKey: request.prompt_cache_key }),
    ...(request.prompt_cache_retention && { promptCacheRetention: request.prompt_cache_retention }),
    ...(request.max_tool_calls && { maxToolCalls: request.max_tool_calls }),
    stream: request.stream ?? false,
    untranslatable: reader.list,
    otherNames: {
      ...(!request.safety_identifier && { userId: ['user'] }),
      ...(!request.reasoning?.summary && { reasoningSummary: ['reasoning', 'generate_summary'] }),
      ...items.settingNames,
    },
  };
}

const decodeSampling = (request: ResponsesRequestWire) => ({
  ...(typeof request.temperature === 'number' && { temperature: request.temperature }),
  ...(typeof request.top_p === 'number' && { topP: request.top_p }),
  ...(request.presence_penalty && { presencePenalty: request.presence_penalty }),
  ...(request.frequency_penalty && { frequencyPenalty: request.frequency_penalty }),
});

function decodeFormat(
  format: NonNullable<NonNullable<ResponsesRequestWire['text']>['format']>,
): OutputFormat {
  switch (format.type) {
    case 'text':
      return { type: 'text' };
    case 'json_object':
      return { type: 'object' };
    case 'json_schema': {
      const { name, schema, description, strict } = format;
      return {
        type: 'schema',
        name,
        schema,
        ...(typeof strict === 'boolean' && { strict }),
        ...(description && { description }),
      };
    }
  }
}

const SUMMARIES = ['auto', 'concise', 'detailed'] as const;

function decodeReasoning({ reasoning }: Pick<ResponsesRequestWire, 'reasoning'>): ReasoningControl {
  const effort = readEffort(reasoning?.effort);
  const wanted = reasoning?.summary ?? reasoning?.generate_summary;
  const summary = SUMMARIES.find((level) => level === wanted);
  return {
    ...(effort === 'none' && { mode: 'off' as const }),
    ...(effort && { effort }),
    ...(summary && { summary }),
  };
}

function decodeLogprobs(request: ResponsesRequestWire): { logprobs?: number } {
  const wanted = includes(request, 'message.output_text.logprobs');
  return wanted || request.top_logprobs ? { logprobs: request.top_logprobs ?? 0 } : {};
}

function reportMembers(request: ResponsesRequestWire, reader: RequestReader): void {
  reader.dropOther(request.user, request.safety_identifier, ['user']);
  const { effort, summary, generate_summary } = request.reasoning ?? {};
  if (isOwnEffort(effort)) reader.drop(['reasoning', 'effort'], 'an effort that no other protocol knows');
  reader.dropOther(generate_summary, summary, ['reasoning', 'generate_summary']);
  if (request.stream_options?.include_obfuscation)
    reader.drop(['stream_options', 'include_obfuscation'], 'translated streams are not padded');
  if (request.truncation === 'auto') reader.drop(['truncation'], 'the conversation is not shortened');
  for (const [index, what] of (request.include ?? []).entries()) {
    if (!ANSWERED_INCLUDES.has(what)) reader.drop(['include', index], 'not available from this model');
  }
}
