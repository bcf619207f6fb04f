import { type EncodedRequest, type Encoder, staysHome } from '../../../neutral/encoding/encoder.ts';
import { encodeModeration } from '../../../neutral/encoding/moderation.ts';
import { withoutAttribution } from '../../../neutral/encoding/plain-text.ts';
import { omitRefusedMembers } from '../../../neutral/encoding/refused-members.ts';
import { encodeThinking } from '../../../neutral/encoding/thinking.ts';
import { encodeUserId } from '../../../neutral/encoding/user-id.ts';
import { refuseParameter } from '../../../neutral/losses.ts';
import { reportUntranslatable } from '../../../neutral/request-reader.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';
import { encodeToolChoice, encodeTools, selectMessagesTools } from './encode-tools.ts';
import { encodeTurns } from './encode-turns.ts';

const MAX_USER_ID_LENGTH = 256;

/** A conversation as a Messages request. @throws GatewayError for what must not be lost */
export function encodeMessagesRequest(encoder: Encoder): EncodedRequest {
  const { conversation, target, losses } = encoder;
  reportUntranslatable(conversation, 'messages', losses);
  reportForeignMembers(encoder);
  const maxTokens = conversation.maxOutputTokens ?? target.maxOutputTokens;
  const selection = selectMessagesTools(encoder);
  const format = encodeFormat(encoder);
  const forced = ['required', 'tool'].includes(selection.choice?.type ?? '');
  const { thinking, effort } = encodeThinking(encoder, { maxTokens, forced });
  const tools = encodeTools(selection.tools, encoder);
  const toolChoice = encodeToolChoice(selection, encoder);
  const outputConfig = { ...(effort && { effort }), ...(format && { format }) };
  const userId = encodeUserId(conversation, target, MAX_USER_ID_LENGTH, losses);
  const system = encodeSystem(encoder);
  const body = {
    model: target.model,
    max_tokens: maxTokens,
    ...(system !== undefined && { system }),
    messages: encodeTurns(encoder),
    ...(tools.length > 0 && { tools }),
    ...(toolChoice && { tool_choice: toolChoice }),
    ...(thinking && { thinking }),
    ...(Object.keys(outputConfig).length > 0 && { output_config: outputConfig }),
    ...encodeSampling(encoder, thinking?.type === 'enabled' || thinking?.type === 'adaptive'),
    ...(conversation.stopSequences.length > 0 && { stop_sequences: conversation.stopSequences }),
    ...(userId !== undefined && { metadata: { user_id: userId } }),
    ...encodeTier(encoder),
    ...(conversation.stream && { stream: true }),
  };
  return { body: omitRefusedMembers(body, encoder), stopSequences: [] };
}

function encodeSystem({ conversation, target }: Encoder) {
  const parts = target.vendor === 'anthropic' ? conversation.system : withoutAttribution(conversation.system);
  const texts = parts.map((part) => part.text).filter((text) => text.trim() !== '');
  return texts.length > 1 ? texts.map((text) => ({ type: 'text', text })) : texts[0];
}

function encodeFormat({ conversation, losses }: Encoder) {
  const { outputFormat } = conversation;
  if (outputFormat?.type !== 'schema') return undefined;
  if (outputFormat.description)
    losses.drop(pathsOf(conversation).formatDescription, 'a schema has none there');
  if (outputFormat.strict === false)
    losses.drop(pathsOf(conversation).strictFormat, 'a schema is always strict there');
  return { type: 'json_schema', schema: outputFormat.schema };
}

function encodeTier({ conversation, losses }: Encoder) {
  const { serviceTier } = conversation;
  if (serviceTier === undefined) return {};
  if (serviceTier === 'auto') return { service_tier: 'auto' };
  if (serviceTier === 'default') return { service_tier: 'standard_only' };
  losses.drop(pathsOf(conversation).serviceTier, "another provider's tier");
  return {};
}

/** Members of the other protocols that the neutral form knows and this one has not. */
function reportForeignMembers(encoder: Encoder): void {
  const { conversation, losses } = encoder;
  if (staysHome(encoder)) return;
  const { sampling, verbosity, promptCacheKey, promptCacheRetention, maxToolCalls } = conversation;
  const paths = pathsOf(conversation);
  const searches = conversation.tools.some((tool) => tool.type === 'web-search');
  const absent = 'not known to the messages protocol';
  if (conversation.logprobs !== undefined) {
    refuseParameter(paths.logprobs, 'Token probabilities are not available for the model that would answer.');
  }
  if (sampling.presencePenalty) losses.drop(paths.presencePenalty, absent);
  if (sampling.frequencyPenalty) losses.drop(paths.frequencyPenalty, absent);
  if (verbosity !== undefined && verbosity !== 'medium') losses.drop(paths.verbosity, absent);
  if (promptCacheKey !== undefined) losses.drop(paths.promptCacheKey, absent);
  if (promptCacheRetention !== undefined) losses.drop(paths.promptCacheRetention, absent);
  if (maxToolCalls !== undefined && !searches) losses.drop(paths.maxToolCalls, absent);
  encodeModeration(encoder);
}

/** Temperature, top_p and top_k as far as Claude takes them: 0 to 1, not both at once, and none while it thinks manually. */
export function encodeSampling(encoder: Encoder, thinks: boolean) {
  const { conversation, target, losses } = encoder;
  const { sampling } = conversation;
  const { temperature, topP, topK } = sampling;
  const paths = pathsOf(conversation);
  const isHome = staysHome(encoder);
  const refused = (isGiven: boolean, path: readonly (string | number)[], why: string) => {
    if (isGiven) losses.drop(path, why);
  };
  if (target.quirks.sampling === 'drop') {
    refused(temperature !== undefined, paths.temperature, 'this model takes no sampling parameters');
    refused(topP !== undefined, paths.topP, 'this model takes no sampling parameters');
    refused(topK !== undefined, paths.topK, 'this model takes no sampling parameters');
    return {};
  }
  if (thinks && !isHome) {
    refused(temperature !== undefined && temperature !== 1, paths.temperature, 'fixed while thinking');
    refused(topP !== undefined, paths.topP, 'fixed while thinking');
    refused(topK !== undefined, paths.topK, 'fixed while thinking');
    return {};
  }
  const both = !isHome && temperature !== undefined && topP !== undefined;
  refused(both, paths.topP, 'not together with a temperature');
  refused((temperature ?? 0) > 1, paths.temperature, 'lowered to 1, the highest there');
  return {
    ...(temperature !== undefined && { temperature: Math.min(temperature, 1) }),
    ...(topP !== undefined && !both && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
  };
}
