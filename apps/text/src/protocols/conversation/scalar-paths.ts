import type { Path } from './path.ts';
import type { TextProtocol } from './text-protocol.ts';

type Scalar =
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'stopSequences'
  | 'logprobs'
  | 'userId'
  | 'serviceTier'
  | 'outputFormat'
  | 'strictFormat'
  | 'formatDescription'
  | 'verbosity'
  | 'reasoning'
  | 'reasoningSummary'
  | 'toolChoice'
  | 'parallelToolCalls'
  | 'promptCacheKey'
  | 'promptCacheRetention'
  | 'maxToolCalls'
  | 'turns';

/** The caller's own name of each request member, for reporting a loss. A member that a protocol lacks has the nearest one. */
export const SCALAR_PATHS: Record<TextProtocol, Record<Scalar, Path>> = {
  responses: {
    maxOutputTokens: ['max_output_tokens'],
    temperature: ['temperature'],
    topP: ['top_p'],
    topK: ['top_k'],
    presencePenalty: ['presence_penalty'],
    frequencyPenalty: ['frequency_penalty'],
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
  chat: {
    maxOutputTokens: ['max_completion_tokens'],
    temperature: ['temperature'],
    topP: ['top_p'],
    topK: ['top_k'],
    presencePenalty: ['presence_penalty'],
    frequencyPenalty: ['frequency_penalty'],
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
