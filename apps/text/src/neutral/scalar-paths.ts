import type { ConversationProtocol } from '@gateway/upstream/protocol';
import { formatPath, type Path } from '../wire/path.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';

const SCALARS = [
  'maxOutputTokens',
  'temperature',
  'topP',
  'topK',
  'presencePenalty',
  'frequencyPenalty',
  'seed',
  'stopSequences',
  'logprobs',
  'userId',
  'serviceTier',
  'outputFormat',
  'strictFormat',
  'formatDescription',
  'verbosity',
  'reasoning',
  'reasoningSummary',
  'toolChoice',
  'parallelToolCalls',
  'promptCacheKey',
  'promptCacheRetention',
  'maxToolCalls',
  'turns',
] as const;
export type Scalar = (typeof SCALARS)[number];

/** Members that the caller wrote under another name than the usual one, with their paths. */
export type OtherNames = { readonly [Name in Scalar]?: Path };

/** The names under which a caller wrote its members. */
interface CallersNames {
  readonly source: TextProtocol;
  readonly otherNames: OtherNames;
}

/** The caller's own name of each request member, for reporting a loss. A member that a protocol lacks has the nearest one. */
export const SCALAR_PATHS: Record<TextProtocol, Record<Scalar, Path>> = {
  responses: {
    maxOutputTokens: ['max_output_tokens'],
    temperature: ['temperature'],
    topP: ['top_p'],
    topK: ['top_k'],
    presencePenalty: ['presence_penalty'],
    frequencyPenalty: ['frequency_penalty'],
    seed: ['seed'],
    stopSequences: ['stop'],
    logprobs: ['top_logprobs'],
    userId: ['safety_identifier'],
    serviceTier: ['service_tier'],
    outputFormat: ['text', 'format'],
    strictFormat: ['text', 'format', 'strict'],
    formatDescription: ['text', 'format', 'description'],
    verbosity: ['text', 'verbosity'],
    reasoning: ['reasoning', 'effort'],
    reasoningSummary: ['reasoning', 'summary'],
    toolChoice: ['tool_choice'],
    parallelToolCalls: ['parallel_tool_calls'],
    promptCacheKey: ['prompt_cache_key'],
    promptCacheRetention: ['prompt_cache_retention'],
    maxToolCalls: ['max_tool_calls'],
    turns: ['input'],
  },
  messages: {
    maxOutputTokens: ['max_tokens'],
    temperature: ['temperature'],
    topP: ['top_p'],
    topK: ['top_k'],
    presencePenalty: ['presence_penalty'],
    frequencyPenalty: ['frequency_penalty'],
    seed: ['seed'],
    stopSequences: ['stop_sequences'],
    logprobs: ['logprobs'],
    userId: ['metadata', 'user_id'],
    serviceTier: ['service_tier'],
    outputFormat: ['output_config', 'format'],
    strictFormat: ['output_config', 'format'],
    formatDescription: ['output_config', 'format'],
    verbosity: ['verbosity'],
    reasoning: ['thinking'],
    reasoningSummary: ['thinking', 'display'],
    toolChoice: ['tool_choice'],
    parallelToolCalls: ['tool_choice', 'disable_parallel_tool_use'],
    promptCacheKey: ['cache_control'],
    promptCacheRetention: ['cache_control'],
    maxToolCalls: ['tools'],
    turns: ['messages'],
  },
  gemini: {
    maxOutputTokens: ['generationConfig', 'maxOutputTokens'],
    temperature: ['generationConfig', 'temperature'],
    topP: ['generationConfig', 'topP'],
    topK: ['generationConfig', 'topK'],
    presencePenalty: ['generationConfig', 'presencePenalty'],
    frequencyPenalty: ['generationConfig', 'frequencyPenalty'],
    seed: ['generationConfig', 'seed'],
    stopSequences: ['generationConfig', 'stopSequences'],
    logprobs: ['generationConfig', 'logprobs'],
    userId: ['labels'],
    serviceTier: ['serviceTier'],
    outputFormat: ['generationConfig', 'responseJsonSchema'],
    strictFormat: ['generationConfig', 'responseJsonSchema'],
    formatDescription: ['generationConfig', 'responseJsonSchema', 'description'],
    verbosity: ['generationConfig'],
    reasoning: ['generationConfig', 'thinkingConfig'],
    reasoningSummary: ['generationConfig', 'thinkingConfig', 'includeThoughts'],
    toolChoice: ['toolConfig'],
    parallelToolCalls: ['toolConfig'],
    promptCacheKey: ['cachedContent'],
    promptCacheRetention: ['cachedContent'],
    maxToolCalls: ['tools'],
    turns: ['contents'],
  },
  chat: {
    maxOutputTokens: ['max_completion_tokens'],
    temperature: ['temperature'],
    topP: ['top_p'],
    topK: ['top_k'],
    presencePenalty: ['presence_penalty'],
    frequencyPenalty: ['frequency_penalty'],
    seed: ['seed'],
    stopSequences: ['stop'],
    logprobs: ['logprobs'],
    userId: ['safety_identifier'],
    serviceTier: ['service_tier'],
    outputFormat: ['response_format'],
    strictFormat: ['response_format', 'json_schema', 'strict'],
    formatDescription: ['response_format', 'json_schema', 'description'],
    verbosity: ['verbosity'],
    reasoning: ['reasoning_effort'],
    reasoningSummary: ['reasoning_effort'],
    toolChoice: ['tool_choice'],
    parallelToolCalls: ['parallel_tool_calls'],
    promptCacheKey: ['prompt_cache_key'],
    promptCacheRetention: ['prompt_cache_retention'],
    maxToolCalls: ['max_tool_calls'],
    turns: ['messages'],
  },
};

/** The same names of protocols that only channels speak, as far as an upstream's refusal names them. */
const UPSTREAM_PATHS: Readonly<Record<ConversationProtocol, Partial<Record<Scalar, Path>>>> = {
  ...SCALAR_PATHS,
  converse: {
    maxOutputTokens: ['inferenceConfig', 'maxTokens'],
    temperature: ['inferenceConfig', 'temperature'],
    topP: ['inferenceConfig', 'topP'],
    stopSequences: ['inferenceConfig', 'stopSequences'],
    toolChoice: ['toolConfig', 'toolChoice'],
    outputFormat: ['outputConfig'],
    reasoning: ['additionalModelRequestFields'],
    serviceTier: ['serviceTier'],
    turns: ['messages'],
  },
};

/** The value of a member, or of a path into one, under a protocol. Chat has two names for the bound on the output. */
export function scalarAt(
  protocol: ConversationProtocol,
  name: string,
  nameOf: (path: Path) => string = formatPath,
): Scalar | undefined {
  const wanted = protocol === 'chat' && name === 'max_tokens' ? 'max_completion_tokens' : name;
  return SCALARS.find((scalar) => {
    const path = UPSTREAM_PATHS[protocol][scalar];
    return path !== undefined && nameOf(path) === wanted;
  });
}

/** Where the caller wrote each request member: under its protocol's name for it, or the older one that was used. */
export const pathsOf = ({ source, otherNames }: CallersNames): Record<Scalar, Path> => ({
  ...SCALAR_PATHS[source],
  ...otherNames,
});

/** The path in the caller's request of a member of the upstream's; the upstream's name where the caller's has none. */
export function callersMemberPath(
  member: string,
  upstream: ConversationProtocol,
  conversation: CallersNames,
): Path {
  // Every protocol calls its tools so.
  if (member === 'tools') return [member];
  const scalar = scalarAt(upstream, member, ([first]) => String(first));
  return scalar === undefined ? [member] : pathsOf(conversation)[scalar];
}
