import { blocks } from '@gateway/contracts/openai/moderation-wire';
import type { EncodedRequest, Encoder } from '../../../neutral/encoding/encoder.ts';
import { withoutAttribution } from '../../../neutral/encoding/plain-text.ts';
import { omitRefusedMembers } from '../../../neutral/encoding/refused-members.ts';
import { encodeUserId } from '../../../neutral/encoding/user-id.ts';
import { refuseParameter } from '../../../neutral/losses.ts';
import { reportUntranslatable } from '../../../neutral/request-reader.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';
import { CachePoints } from './cache-points.ts';
import { type Block, DocumentNames } from './documents.ts';
import { encodeMessages } from './encode-messages.ts';
import { encodeToolConfig, selectConverseTools } from './encode-tools.ts';
import { encodeReasoningFields, encodeTopK, type ModelFields } from './model-fields.ts';

const MAX_USER_ID_LENGTH = 256;

/** A conversation as a request of Converse; the path has the model, and whether it streams. @throws GatewayError for what must not be lost */
export function encodeConverseRequest(encoder: Encoder): EncodedRequest {
  const { conversation, target, losses } = encoder;
  const { quirks } = target;
  const points = new CachePoints(encoder);
  reportUntranslatable({ ...conversation, untranslatable: points.others }, 'converse', losses);
  reportForeignMembers(encoder);
  const selection = selectConverseTools(encoder);
  const forced = ['required', 'tool'].includes(selection.choice?.type ?? '');
  const maxTokens = conversation.maxOutputTokens ?? target.maxOutputTokens;
  const reasoning = encodeReasoningFields(encoder, { maxTokens, forced });
  const { stopSequences } = conversation;
  const stopsNative = stopSequences.length <= quirks.maxStopSequences;
  const toolConfig = encodeToolConfig(selection, encoder, points);
  const system = encodeSystem(encoder, points);
  const head = quirks.systemPrompt ? [] : system.filter((block) => 'text' in block);
  const messages = encodeMessages({ ...encoder, documents: new DocumentNames() }, points, head);
  points.reportRest();
  const inferenceConfig = {
    ...encodeBound(encoder, reasoning),
    ...encodeSampling(encoder, reasoning),
    ...(stopsNative && stopSequences.length > 0 && { stopSequences }),
  };
  const fields = { ...reasoning.fields, ...encodeTopK(encoder) };
  const showsStop = target.vendor === 'anthropic' && stopsNative && stopSequences.length > 0;
  const userId = encodeUserId(conversation, target, MAX_USER_ID_LENGTH, losses);
  const body = {
    ...(system.length > 0 && quirks.systemPrompt && { system }),
    messages,
    ...(isFilled(inferenceConfig) && { inferenceConfig }),
    ...(toolConfig && { toolConfig }),
    ...encodeFormat(encoder),
    ...(isFilled(fields) && { additionalModelRequestFields: fields }),
    ...(showsStop && { additionalModelResponseFieldPaths: [stopPath(conversation.stream)] }),
    ...encodeGuardrail(encoder),
    ...encodeTier(encoder),
    ...(userId !== undefined && { requestMetadata: { user_id: userId } }),
  };
  return {
    body: omitRefusedMembers(body, encoder),
    stopSequences: stopsNative ? [] : stopSequences,
    ...(toolConfig && !quirks.streamedTools && { streamed: false }),
  };
}

/** The members of a request that count as its input. */
export const countedOf = ({
  messages,
  system,
  toolConfig,
  additionalModelRequestFields,
}: EncodedRequest['body']): EncodedRequest['body'] => ({
  messages,
  ...(system !== undefined && { system }),
  ...(toolConfig !== undefined && { toolConfig }),
  ...(additionalModelRequestFields !== undefined && { additionalModelRequestFields }),
});

const isFilled = (members: object): boolean => Object.keys(members).length > 0;

/** Which stop sequence it was, where Claude says so. */
const stopPath = (stream: boolean): string => (stream ? '/delta/stop_sequence' : '/stop_sequence');

function encodeSystem({ conversation, target }: Encoder, points: CachePoints): Block[] {
  const parts = target.vendor === 'anthropic' ? conversation.system : withoutAttribution(conversation.system);
  return parts.flatMap(({ text, at }) =>
    text.trim() === '' ? [] : [{ text }, ...points.after(at, 'system')],
  );
}

/**
 * The caller's bound, or the model's own default: AWS counts the whole bound against the quota of tokens until the answer ends, and
 * refuses one that is above the model's.
 */
function encodeBound({ conversation, losses }: Encoder, { refusesBound }: ModelFields) {
  const { maxOutputTokens } = conversation;
  if (maxOutputTokens === undefined) return {};
  if (!refusesBound) return { maxTokens: maxOutputTokens };
  losses.drop(pathsOf(conversation).maxOutputTokens, 'not taken at this effort');
  return {};
}

/** Temperature and top_p as far as models take them: up to 1, and of Claude's not both, nor any while it thinks. */
function encodeSampling({ conversation, target, losses }: Encoder, { fixesSampling }: ModelFields) {
  const { temperature, topP } = conversation.sampling;
  const paths = pathsOf(conversation);
  const isDropped = target.quirks.sampling === 'drop';
  const isFixed = isDropped || fixesSampling;
  if (isFixed) {
    const why = isDropped ? 'this model takes no sampling parameters' : 'fixed while thinking';
    if (temperature !== undefined && (isDropped || temperature !== 1)) losses.drop(paths.temperature, why);
    if (topP !== undefined) losses.drop(paths.topP, why);
    return {};
  }
  const both = target.vendor === 'anthropic' && temperature !== undefined && topP !== undefined;
  if (both) losses.drop(paths.topP, 'not together with a temperature');
  if ((temperature ?? 0) > 1) losses.drop(paths.temperature, 'lowered to 1, the highest there');
  return {
    ...(temperature !== undefined && { temperature: Math.min(temperature, 1) }),
    ...(topP !== undefined && !both && { topP }),
  };
}

function encodeFormat({ conversation, losses }: Encoder) {
  const { outputFormat: format } = conversation;
  if (format?.type !== 'schema') return {};
  const { name = 'output', description, schema } = format;
  if (format.strict === false)
    losses.drop(pathsOf(conversation).strictFormat, 'a schema is always strict there');
  const jsonSchema = { name, ...(description && { description }), schema: JSON.stringify(schema) };
  return { outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema } } } };
}

function encodeGuardrail({ conversation, target }: Encoder) {
  const { guardrail } = target;
  if (guardrail === undefined) return {};
  const { id, version, trace } = guardrail;
  return {
    guardrailConfig: {
      guardrailIdentifier: id,
      guardrailVersion: version,
      ...(trace && { trace }),
      // A piece of the answer is shown when it has passed, not before.
      ...(conversation.stream && { streamProcessingMode: 'sync' }),
    },
  };
}

const TIERS: ReadonlySet<string> = new Set(['default', 'flex', 'priority']);

function encodeTier({ conversation, losses }: Encoder) {
  const { serviceTier } = conversation;
  if (serviceTier === undefined || serviceTier === 'auto') return {};
  if (TIERS.has(serviceTier)) return { serviceTier: { type: serviceTier } };
  losses.drop(pathsOf(conversation).serviceTier, "another provider's tier");
  return {};
}

/** Members of callers' protocols that the neutral form knows and Converse has not. */
function reportForeignMembers({ conversation, target, losses }: Encoder): void {
  const { sampling, verbosity, promptCacheKey, promptCacheRetention, maxToolCalls, moderation } =
    conversation;
  const paths = pathsOf(conversation);
  const absent = 'not known to Converse';
  if (conversation.logprobs !== undefined)
    refuseParameter(paths.logprobs, 'Token probabilities are not available for the model that would answer.');
  if (sampling.presencePenalty) losses.drop(paths.presencePenalty, absent);
  if (sampling.frequencyPenalty) losses.drop(paths.frequencyPenalty, absent);
  if (verbosity !== undefined && verbosity !== 'medium') losses.drop(paths.verbosity, absent);
  if (promptCacheKey !== undefined) losses.drop(paths.promptCacheKey, absent);
  if (promptCacheRetention !== undefined) losses.drop(paths.promptCacheRetention, absent);
  if (maxToolCalls !== undefined) losses.drop(paths.maxToolCalls, absent);
  if (moderation === undefined) return;
  if (blocks(moderation) && !target.countsOnly)
    refuseParameter(
      ['moderation'],
      'Moderation that blocks is not available for this model. Leave it out to be answered without it.',
    );
  losses.drop(['moderation'], 'answers are not moderated there');
}
