import { GeminiRequestWire, type GenerationConfig } from '@gateway/contracts/google/gemini-request';
import type { Conversation, OutputFormat, ReasoningControl } from '../../../neutral/conversation.ts';
import { readEffort, wantedEffort } from '../../../neutral/encoding/effort.ts';
import { RequestReader } from '../../../neutral/request-reader.ts';
import { isObject } from '../../../wire/json-object.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';
import { decodeContents, decodeSystem } from './decode-contents.ts';
import { decodeToolChoice, decodeTools } from './decode-tools.ts';
import { jsonSchema } from './json-schema.ts';
import { usualSpelling } from './usual-spelling.ts';

/** A request of `generateContent`, with the model and the stream of its path, in neutral form. @throws GatewayError where it is not one */
export function decodeGeminiRequest(body: unknown, tokens: OpaqueTokens): Conversation {
  const reader = new RequestReader('gemini');
  const request = reader.read(GeminiRequestWire, isObject(body) ? usualSpelling(body) : body);
  const config = request.generationConfig ?? {};
  const calling = request.toolConfig?.functionCallingConfig;
  const toolChoice = calling && decodeToolChoice(calling, reader);
  const outputFormat = decodeFormat(config, reader);
  const serviceTier =
    request.serviceTier && (TIERS[request.serviceTier.toLowerCase()] ?? request.serviceTier);
  const conversation: Omit<Conversation, 'untranslatable'> = {
    source: 'gemini',
    system: decodeSystem(request.systemInstruction, reader),
    turns: decodeContents(request.contents, tokens, reader),
    tools: (request.tools ?? []).flatMap((entry, index) => decodeTools(entry, ['tools', index], reader)),
    ...(toolChoice && { toolChoice }),
    sampling: decodeSampling(config),
    stopSequences: config.stopSequences ?? [],
    ...(config.maxOutputTokens && { maxOutputTokens: config.maxOutputTokens }),
    ...(outputFormat && { outputFormat }),
    reasoning: decodeReasoning(config.thinkingConfig, reader),
    ...(config.responseLogprobs && { logprobs: config.logprobs ?? 0 }),
    ...(serviceTier && { serviceTier }),
    stream: request.stream ?? false,
    otherNames: { outputFormat: ['generationConfig', formatMember(config)] },
  };
  reportMembers(request, config, reader);
  return { ...conversation, untranslatable: reader.list };
}

/** Tiers by the names that OpenAI has for them. */
const TIERS: Readonly<Record<string, string>> = { standard: 'default', flex: 'flex', priority: 'priority' };

function decodeSampling(config: GenerationConfig): Conversation['sampling'] {
  const { temperature, topP, topK, presencePenalty, frequencyPenalty, seed } = config;
  return {
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof topP === 'number' && { topP }),
    ...(typeof topK === 'number' && { topK }),
    ...(presencePenalty && { presencePenalty }),
    ...(frequencyPenalty && { frequencyPenalty }),
    ...(typeof seed === 'number' && { seed }),
  };
}

const JSON_TYPE = 'application/json';
const ENUM_TYPE = 'text/x.enum';

/** The member that says the output's format. */
const formatMember = ({ responseJsonSchema, responseSchema }: GenerationConfig): string => {
  if (responseJsonSchema) return 'responseJsonSchema';
  return responseSchema ? 'responseSchema' : 'responseMimeType';
};

function decodeFormat(config: GenerationConfig, reader: RequestReader): OutputFormat | undefined {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config;
  if (type && type !== JSON_TYPE && type !== 'text/plain')
    reader.refuse(
      ['generationConfig', 'responseMimeType'],
      type === ENUM_TYPE
        ? `'${ENUM_TYPE}' is not available for this model. Use ${JSON_TYPE} with a schema that is an enum.`
        : `Expected ${JSON_TYPE} or text/plain.`,
    );
  const schema = responseJsonSchema ?? (responseSchema && jsonSchema(responseSchema));
  if (schema) return { type: 'schema', schema };
  return type === JSON_TYPE ? { type: 'object' } : undefined;
}

type ThinkingConfig = GenerationConfig['thinkingConfig'];

/** A budget of 0 is no thinking, and one of -1 leaves it to the model. */
function decodeReasoning(config: ThinkingConfig, reader: RequestReader): ReasoningControl {
  const { includeThoughts, thinkingBudget: budget, thinkingLevel: level } = config ?? {};
  const effort = readEffort(level?.toLowerCase());
  const path = ['generationConfig', 'thinkingConfig'];
  if (level && level !== 'THINKING_LEVEL_UNSPECIFIED' && effort === undefined)
    reader.drop([...path, 'thinkingLevel'], 'an effort that no other protocol knows');
  const summary = includeThoughts ? { summary: 'auto' as const } : {};
  if (effort !== undefined) return { effort, ...summary };
  if (typeof budget !== 'number' || budget < 0) return summary;
  if (budget === 0) return { mode: 'off', effort: 'none', ...summary };
  const manual = { mode: 'manual', budgetTokens: budget } as const;
  return { ...manual, effort: wantedEffort(manual), ...summary };
}

/** Thresholds that let everything pass: without them an answer is the same. */
const NO_GUARD: ReadonlySet<string | null | undefined> = new Set([
  'OFF',
  'BLOCK_NONE',
  'HARM_BLOCK_THRESHOLD_UNSPECIFIED',
  null,
  undefined,
]);

function reportMembers(
  { safetySettings, cachedContent }: GeminiRequestWire,
  config: GenerationConfig,
  reader: RequestReader,
): void {
  if (cachedContent)
    reader.refuse(
      ['cachedContent'],
      'Cached content is known to the provider that keeps it only. Send the content itself.',
    );
  if (safetySettings?.some(({ threshold }) => !NO_GUARD.has(threshold)))
    reader.refuse(
      ['safetySettings'],
      "'safetySettings' are not available for this model. Leave them out to be answered without them.",
    );
  else if (safetySettings?.length) reader.drop(['safetySettings'], 'known to the gemini protocol only');
  if ((config.candidateCount ?? 1) > 1)
    reader.refuse(
      ['generationConfig', 'candidateCount'],
      'The model that would answer gives one answer at a time.',
    );
  if (config.responseModalities?.some((modality) => modality.toUpperCase() !== 'TEXT'))
    reader.refuse(['generationConfig', 'responseModalities'], 'The model that would answer can only write.');
}
