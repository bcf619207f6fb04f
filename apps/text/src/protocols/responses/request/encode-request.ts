import type { ReasoningControl } from '../../../neutral/conversation.ts';
import { encodeEffort } from '../../../neutral/encoding/effort.ts';
import { type EncodedRequest, type Encoder, staysHome } from '../../../neutral/encoding/encoder.ts';
import { withoutAttribution } from '../../../neutral/encoding/plain-text.ts';
import { omitRefusedMembers } from '../../../neutral/encoding/refused-members.ts';
import { encodeUserId } from '../../../neutral/encoding/user-id.ts';
import { reportUntranslatable } from '../../../neutral/request-reader.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';
import type { Tool } from '../../../neutral/tool.ts';
import { encodeItems } from './encode-items.ts';
import { encodeMaxToolCalls, encodeToolChoice, encodeTools, selectResponsesTools } from './encode-tools.ts';

const MAX_USER_ID_LENGTH = 64;
/** OpenAI's own minimum of `max_output_tokens`. */
const MIN_OUTPUT_TOKENS = 16;

/** A conversation as a Responses request that keeps nothing at the provider. @throws GatewayError for what must not be lost */
export function encodeResponsesRequest(encoder: Encoder): EncodedRequest {
  const { conversation, target, losses } = encoder;
  reportUntranslatable(conversation, 'responses', losses);
  const selected = selectResponsesTools(encoder);
  const tools = encodeTools(selected, encoder);
  const toolChoice = encodeToolChoice(selected, encoder);
  const maxToolCalls = encodeMaxToolCalls(selected, encoder);
  const reasoning = encodeReasoning(encoder);
  const text = encodeText(encoder);
  const include = encodeInclude(selected, encoder);
  const userId = encodeUserId(conversation, target, MAX_USER_ID_LENGTH, losses);
  const { parallelToolCalls, logprobs, promptCacheKey, promptCacheRetention, serviceTier } = conversation;
  const body = {
    model: target.model,
    ...encodeInput(encoder),
    ...(tools.length > 0 && { tools }),
    ...(toolChoice !== undefined && { tool_choice: toolChoice }),
    ...(tools.length > 0 && encodeParallel(parallelToolCalls, encoder)),
    ...(maxToolCalls !== undefined && { max_tool_calls: maxToolCalls }),
    ...encodeLimit(encoder),
    ...encodeSampling(encoder),
    ...(reasoning && { reasoning }),
    ...(text && { text }),
    ...(logprobs !== undefined && { top_logprobs: logprobs }),
    ...(promptCacheKey && { prompt_cache_key: promptCacheKey }),
    ...(promptCacheRetention && { prompt_cache_retention: promptCacheRetention }),
    ...(userId !== undefined && { safety_identifier: userId }),
    ...(serviceTier !== undefined && { service_tier: serviceTier }),
    ...(conversation.moderation && { moderation: conversation.moderation }),
    ...(include.length > 0 && { include }),
    store: false,
    ...(conversation.stream && { stream: true }),
  };
  return {
    body: omitRefusedMembers(body, encoder),
    stopSequences: conversation.stopSequences,
  };
}

function encodeInput(encoder: Encoder) {
  const { conversation, target } = encoder;
  const parts = target.vendor === 'anthropic' ? conversation.system : withoutAttribution(conversation.system);
  const system = parts.filter(({ text }) => text !== '');
  const items = encodeItems(encoder);
  const [only] = system;
  if (only === undefined) return { input: items };
  if (system.length === 1) return { instructions: only.text, input: items };
  const blocks = system.map(({ text }) => ({ type: 'input_text', text }));
  return { input: [{ type: 'message', role: 'developer', content: blocks }, ...items] };
}

function encodeParallel(parallel: boolean | undefined, { conversation, target, losses }: Encoder) {
  if (parallel === undefined) return {};
  if (target.quirks.parallelToolCalls) return { parallel_tool_calls: parallel };
  if (!parallel) losses.drop(pathsOf(conversation).parallelToolCalls, 'not known to this upstream');
  return {};
}

function encodeLimit({ conversation, losses }: Encoder) {
  const { maxOutputTokens } = conversation;
  if (maxOutputTokens === undefined) return {};
  if (maxOutputTokens >= MIN_OUTPUT_TOKENS) return { max_output_tokens: maxOutputTokens };
  losses.drop(pathsOf(conversation).maxOutputTokens, `raised to ${MIN_OUTPUT_TOKENS}, the lowest there`);
  return { max_output_tokens: MIN_OUTPUT_TOKENS };
}

function encodeSampling(encoder: Encoder) {
  const { sampling } = encoder.conversation;
  const { losses, target } = encoder;
  const { temperature, topP, topK, presencePenalty, frequencyPenalty } = sampling;
  const paths = pathsOf(encoder.conversation);
  const isKept = target.quirks.sampling === 'keep';
  if (topK !== undefined) losses.drop(paths.topK, 'not known to the responses protocol');
  if (!isKept && temperature !== undefined)
    losses.drop(paths.temperature, 'this model takes no sampling parameters');
  if (!isKept && topP !== undefined) losses.drop(paths.topP, 'this model takes no sampling parameters');
  const isHome = staysHome(encoder);
  if (!isHome && presencePenalty) losses.drop(paths.presencePenalty, 'not known to the responses protocol');
  if (!isHome && frequencyPenalty) losses.drop(paths.frequencyPenalty, 'not known to the responses protocol');
  return {
    ...(isKept && temperature !== undefined && { temperature }),
    ...(isKept && topP !== undefined && { top_p: topP }),
    ...(isHome && presencePenalty !== undefined && { presence_penalty: presencePenalty }),
    ...(isHome && frequencyPenalty !== undefined && { frequency_penalty: frequencyPenalty }),
  };
}

function encodeText({ conversation }: Encoder): object | undefined {
  const { outputFormat, verbosity } = conversation;
  if (outputFormat === undefined && verbosity === undefined) return undefined;
  return { ...(outputFormat && { format: encodeFormat(outputFormat) }), ...(verbosity && { verbosity }) };
}

function encodeFormat(format: NonNullable<Encoder['conversation']['outputFormat']>): object {
  switch (format.type) {
    case 'text':
      return { type: 'text' };
    case 'object':
      return { type: 'json_object' };
    case 'schema': {
      const { name = 'output', schema, strict = false, description } = format;
      return { type: 'json_schema', name, schema, strict, ...(description && { description }) };
    }
  }
}

/** Sealed reasoning is always requested, since the provider keeps nothing. */
function encodeInclude(tools: readonly Tool[], { conversation, target }: Encoder): string[] {
  const { encryptedReasoning, efforts } = target.quirks;
  return [
    ...(encryptedReasoning && efforts.length > 0 ? ['reasoning.encrypted_content'] : []),
    ...(conversation.logprobs === undefined ? [] : ['message.output_text.logprobs']),
    ...(tools.some((tool) => tool.type === 'web-search') ? ['web_search_call.action.sources'] : []),
  ];
}

const thinks = ({ mode }: ReasoningControl): boolean => mode !== undefined && mode !== 'off';

/** A Messages caller who has thinking on sees its text, so a summary is requested. */
function encodeSummary({ conversation, target, losses }: Encoder): string | undefined {
  const { reasoning, source } = conversation;
  const wanted = reasoning.summary ?? (source === 'messages' && thinks(reasoning) ? 'auto' : undefined);
  if (wanted === undefined || wanted === 'omitted') return undefined;
  if (target.quirks.reasoningSummary && target.quirks.efforts.length > 0) return wanted;
  if (reasoning.summary)
    losses.drop(pathsOf(conversation).reasoningSummary, 'this upstream gives no summaries');
  return undefined;
}

export function encodeReasoning(encoder: Encoder): object | undefined {
  const effort = encodeEffort(encoder);
  const summary = encodeSummary(encoder);
  if (effort === undefined && summary === undefined) return undefined;
  return { ...(effort && { effort }), ...(summary && { summary }) };
}
