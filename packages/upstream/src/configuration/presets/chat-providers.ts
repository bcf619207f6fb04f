import { bearer, moderationsPath, openaiModelList, openaiPaths, type Preset } from './preset.ts';

/** Only Chat Completions, which most servers of other makers have. */
const chatOnly = {
  speaks: ['chat'],
  paths: { chat: openaiPaths.chat },
  modelList: openaiModelList,
  builtInTools: [],
} as const satisfies Partial<Preset>;

/** Companies whose text models have OpenAI's Chat Completions, and at most its Responses. */
export const CHAT_PROVIDERS = {
  mistral: {
    ...chatOnly,
    speaks: ['chat', 'embeddings', 'moderations'],
    paths: {
      chat: openaiPaths.chat,
      embeddings: openaiPaths.embeddings,
      moderations: moderationsPath,
    },
    baseUrl: 'https://api.mistral.ai/v1',
    key: { ...bearer, required: true },
    quirks: {
      streamOptions: false,
      mergeMessages: true,
      toolCallIds: 'nine-alphanumeric',
      efforts: ['none', 'high'],
      refusedMembers: [
        'service_tier',
        'safety_identifier',
        'user',
        'verbosity',
        'logprobs',
        'top_logprobs',
        'prompt_cache_retention',
      ],
    },
    quirksOf: {
      embeddings: {
        renamedMembers: { dimensions: 'output_dimension' },
        refusedMembers: ['user', 'input_type'],
      },
    },
  },
  groq: {
    ...chatOnly,
    baseUrl: 'https://api.groq.com/openai/v1',
    key: { ...bearer, required: true },
    quirks: {
      maxTokensMember: 'max_completion_tokens',
      penalties: false,
      reasoningMembers: ['reasoning', 'reasoning_content'],
      efforts: ['none', 'low', 'medium', 'high'],
      refusedMembers: [
        'verbosity',
        'logprobs',
        'top_logprobs',
        'safety_identifier',
        'prompt_cache_key',
        'prompt_cache_retention',
      ],
    },
  },
  // Its thinking models answer 400 if an earlier turn's reasoning is missing.
  deepseek: {
    ...chatOnly,
    baseUrl: 'https://api.deepseek.com/v1',
    key: { ...bearer, required: true },
    quirks: {
      parallelToolCalls: false,
      strictTools: false,
      structuredOutput: 'object',
      maxStopSequences: 16,
      // It has three levels, and maps these words to them.
      efforts: ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
      reasoningBack: 'required',
    },
  },
  openrouter: {
    ...chatOnly,
    baseUrl: 'https://openrouter.ai/api/v1',
    paths: { chat: openaiPaths.chat, responses: openaiPaths.responses },
    key: { ...bearer, required: true },
    quirks: { reasoningMembers: ['reasoning', 'reasoning_content'], reasoningBack: 'known' },
  },
  xai: {
    ...chatOnly,
    baseUrl: 'https://api.x.ai/v1',
    speaks: ['chat', 'responses'],
    paths: { chat: openaiPaths.chat, responses: openaiPaths.responses },
    key: { ...bearer, required: true },
    builtInTools: ['web_search'],
    quirks: {
      storedResponses: true,
      reasoningVendor: 'xai',
      maxTokensMember: 'max_completion_tokens',
      penalties: false,
      reasoningSummary: false,
      // Its reasoning models refuse both; the few that accept an effort get `efforts` on a route.
      maxStopSequences: 0,
      efforts: [],
    },
  },
} as const satisfies Record<string, Preset>;
