import { encodeEffort } from '../../../neutral/encoding/effort.ts';
import type { EncodedRequest, Encoder } from '../../../neutral/encoding/encoder.ts';
import { omitRefusedMembers } from '../../../neutral/encoding/refused-members.ts';
import { encodeUserId } from '../../../neutral/encoding/user-id.ts';
import { reportUntranslatable } from '../../../neutral/request-reader.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';
import { encodeMessages } from './encode-messages.ts';
import { encodeToolChoice, encodeTools, encodeWebSearchMember, selectChatTools } from './encode-tools.ts';

const MAX_USER_ID_LENGTH = 64;

/** A conversation as a Chat Completions request. @throws GatewayError for what must not be lost */
export function encodeChatRequest(encoder: Encoder): EncodedRequest {
  const { conversation, target, losses } = encoder;
  reportUntranslatable(conversation, 'chat', losses);
  const selection = selectChatTools(encoder);
  const tools = encodeTools(selection.tools, encoder);
  const toolChoice = encodeToolChoice(selection, encoder);
  const effort = encodeEffort(encoder);
  reportLosses(encoder);
  const userId = encodeUserId(conversation, target, MAX_USER_ID_LENGTH, losses);
  const { stopSequences, logprobs, verbosity, promptCacheKey, promptCacheRetention, serviceTier } =
    conversation;
  const { maxTokensMember, maxStopSequences, streamOptions } = target.quirks;
  const stopsNative = stopSequences.length <= maxStopSequences;
  const format = encodeFormat(encoder);
  const body = {
    model: target.model,
    messages: encodeMessages(encoder),
    ...(tools.length > 0 && { tools }),
    ...(toolChoice !== undefined && { tool_choice: toolChoice }),
    ...(tools.length > 0 && encodeParallel(encoder)),
    ...encodeWebSearchMember(selection.tools, encoder),
    ...(conversation.maxOutputTokens !== undefined && { [maxTokensMember]: conversation.maxOutputTokens }),
    ...encodeSampling(encoder),
    ...(stopsNative && stopSequences.length > 0 && { stop: stopSequences }),
    ...(format && { response_format: format }),
    ...(effort && { reasoning_effort: effort }),
    ...(verbosity && { verbosity }),
    ...(logprobs !== undefined && { logprobs: true, top_logprobs: logprobs }),
    ...(promptCacheKey && { prompt_cache_key: promptCacheKey }),
    ...(promptCacheRetention && { prompt_cache_retention: promptCacheRetention }),
    ...(userId !== undefined && { safety_identifier: userId }),
    ...(serviceTier && serviceTier !== 'auto' && { service_tier: serviceTier }),
    ...(conversation.moderation && { moderation: conversation.moderation }),
    ...(conversation.stream && { stream: true }),
    ...(conversation.stream && streamOptions && { stream_options: { include_usage: true } }),
  };
  return {
    body: omitRefusedMembers(body, encoder),
    stopSequences: stopsNative ? [] : stopSequences,
  };
}

function encodeParallel({ conversation, target, losses }: Encoder) {
  const { parallelToolCalls } = conversation;
  if (parallelToolCalls === undefined) return {};
  if (target.quirks.parallelToolCalls) return { parallel_tool_calls: parallelToolCalls };
  if (!parallelToolCalls) losses.drop(pathsOf(conversation).parallelToolCalls, 'not known to this upstream');
  return {};
}

function encodeSampling({ conversation, target, losses }: Encoder) {
  const { sampling } = conversation;
  const { temperature, topP, topK, presencePenalty, frequencyPenalty, seed } = sampling;
  const paths = pathsOf(conversation);
  const isKept = target.quirks.sampling === 'keep';
  const { penalties } = target.quirks;
  if (topK !== undefined) losses.drop(paths.topK, 'not known to the chat protocol');
  if (!isKept && temperature !== undefined)
    losses.drop(paths.temperature, 'this model takes no sampling parameters');
  if (!isKept && topP !== undefined) losses.drop(paths.topP, 'this model takes no sampling parameters');
  if (!penalties && presencePenalty) losses.drop(paths.presencePenalty, 'not known to this upstream');
  if (!penalties && frequencyPenalty) losses.drop(paths.frequencyPenalty, 'not known to this upstream');
  return {
    ...(isKept && temperature !== undefined && { temperature }),
    ...(isKept && topP !== undefined && { top_p: topP }),
    ...(penalties && presencePenalty !== undefined && { presence_penalty: presencePenalty }),
    ...(penalties && frequencyPenalty !== undefined && { frequency_penalty: frequencyPenalty }),
    ...(seed !== undefined && { seed }),
  };
}

function encodeFormat({ conversation }: Encoder): object | undefined {
  const { outputFormat: format } = conversation;
  switch (format?.type) {
    case 'object':
      return { type: 'json_object' };
    case 'schema': {
      const { name = 'output', description, schema, strict = false } = format;
      const described = description ? { description } : {};
      return { type: 'json_schema', json_schema: { name, ...described, schema, strict } };
    }
    default:
      return undefined;
  }
}

function reportLosses({ conversation, losses }: Encoder): void {
  const { maxToolCalls, reasoning } = conversation;
  const paths = pathsOf(conversation);
  if (maxToolCalls !== undefined) losses.drop(paths.maxToolCalls, 'not known to the chat protocol');
  if (reasoning.summary !== undefined && reasoning.summary !== 'omitted') {
    losses.drop(paths.reasoningSummary, 'how reasoning is shown cannot be chosen there');
  }
}
