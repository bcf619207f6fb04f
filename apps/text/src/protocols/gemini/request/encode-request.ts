import type { EncodedRequest, Encoder } from '../../../neutral/encoding/encoder.ts';
import { encodeModeration } from '../../../neutral/encoding/moderation.ts';
import { withoutAttribution } from '../../../neutral/encoding/plain-text.ts';
import { omitRefusedMembers } from '../../../neutral/encoding/refused-members.ts';
import { reportUntranslatable } from '../../../neutral/request-reader.ts';
import { pathsOf } from '../../../neutral/scalar-paths.ts';
import { encodeContents } from './encode-contents.ts';
import { encodeThinking } from './encode-thinking.ts';
import { encodeToolConfig, encodeTools, selectGeminiTools } from './encode-tools.ts';
import { openApiSchema } from './open-api-schema.ts';

/** A conversation as a request for `generateContent`: the model and the stream are in its path. @throws GatewayError for what must not be lost */
export function encodeGeminiRequest(encoder: Encoder): EncodedRequest {
  const { conversation, target, losses } = encoder;
  reportUntranslatable(conversation, 'gemini', losses);
  reportForeignMembers(encoder);
  const selection = selectGeminiTools(encoder);
  const tools = encodeTools(selection.tools, encoder);
  const toolConfig = encodeToolConfig(selection, encoder);
  const system = encodeSystem(encoder);
  const { stopSequences, maxOutputTokens, logprobs } = conversation;
  const stopsNative = stopSequences.length <= target.quirks.maxStopSequences;
  const thinkingConfig = encodeThinking(encoder);
  const generationConfig = {
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...encodeSampling(encoder),
    ...encodeSeed(encoder),
    ...(stopsNative && stopSequences.length > 0 && { stopSequences }),
    ...encodeFormat(encoder),
    ...(logprobs !== undefined && { responseLogprobs: true, logprobs }),
    ...(thinkingConfig && { thinkingConfig }),
  };
  const body = {
    contents: encodeContents(encoder),
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    ...(tools.length > 0 && { tools }),
    ...(toolConfig && { toolConfig }),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
    ...encodeTier(encoder),
  };
  return {
    body: omitRefusedMembers(body, encoder),
    stopSequences: stopsNative ? [] : stopSequences,
  };
}

const encodeSystem = ({ conversation }: Encoder): object[] =>
  withoutAttribution(conversation.system).flatMap(({ text }) => (text.trim() === '' ? [] : [{ text }]));

function encodeSampling({ conversation, target, losses }: Encoder) {
  const { temperature, topP, topK, presencePenalty, frequencyPenalty } = conversation.sampling;
  const paths = pathsOf(conversation);
  const { sampling, penalties } = target.quirks;
  const kept = { ...(sampling === 'keep' && { temperature, topP, topK }) };
  if (sampling === 'drop') {
    for (const name of ['temperature', 'topP', 'topK'] as const)
      if (conversation.sampling[name] !== undefined)
        losses.drop(paths[name], 'this model takes no sampling parameters');
  }
  if (penalties) return withoutUndefined({ ...kept, presencePenalty, frequencyPenalty });
  if (presencePenalty) losses.drop(paths.presencePenalty, 'not known to this upstream');
  if (frequencyPenalty) losses.drop(paths.frequencyPenalty, 'not known to this upstream');
  return withoutUndefined(kept);
}

const MAX_SEED = 2 ** 31 - 1;

/** Of OpenAI's seeds, those that are whole numbers of 32 bits. */
function encodeSeed({ conversation, losses }: Encoder): object {
  const { seed } = conversation.sampling;
  if (seed === undefined) return {};
  if (Number.isInteger(seed) && Math.abs(seed) <= MAX_SEED) return { seed };
  losses.drop(pathsOf(conversation).seed, 'a seed has 32 bits there');
  return {};
}

const withoutUndefined = (members: object): object =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

function encodeFormat({ conversation, target, losses }: Encoder): object {
  const { outputFormat: format } = conversation;
  if (format === undefined || format.type === 'text') return {};
  const type = { responseMimeType: 'application/json' };
  if (format.type === 'object') return type;
  const described = format.description ? { description: format.description } : {};
  const schema = { ...described, ...format.schema };
  if (target.quirks.jsonSchema) return { ...type, responseJsonSchema: schema };
  const { schema: responseSchema, lost } = openApiSchema(schema);
  if (lost.length > 0)
    losses.drop(pathsOf(conversation).outputFormat, `not known to this upstream: ${lost.join(', ')}`);
  return { ...type, responseSchema };
}

/** Tiers by OpenAI's names. */
const TIERS: Readonly<Record<string, string>> = { default: 'standard', flex: 'flex', priority: 'priority' };

function encodeTier({ conversation, losses }: Encoder): object {
  const { serviceTier } = conversation;
  if (serviceTier === undefined || serviceTier === 'auto') return {};
  const tier = Object.hasOwn(TIERS, serviceTier) ? TIERS[serviceTier] : undefined;
  if (tier !== undefined) return { serviceTier: tier };
  losses.drop(pathsOf(conversation).serviceTier, "another provider's tier");
  return {};
}

/** Members of the callers' protocols that the neutral form knows and Gemini has not. */
function reportForeignMembers(encoder: Encoder): void {
  const { conversation, losses } = encoder;
  const { verbosity, promptCacheKey, promptCacheRetention, maxToolCalls, userId, tools } = conversation;
  const paths = pathsOf(conversation);
  const absent = 'not known to the gemini protocol';
  if (verbosity !== undefined && verbosity !== 'medium') losses.drop(paths.verbosity, absent);
  if (promptCacheKey !== undefined) losses.drop(paths.promptCacheKey, absent);
  if (promptCacheRetention !== undefined) losses.drop(paths.promptCacheRetention, absent);
  if (userId !== undefined) losses.drop(paths.userId, absent);
  if (maxToolCalls !== undefined && !tools.some(({ type }) => type === 'web-search'))
    losses.drop(paths.maxToolCalls, absent);
  encodeModeration(encoder);
}
