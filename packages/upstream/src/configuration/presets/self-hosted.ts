import { bearer, openaiModelList, openaiPaths, type Preset, rerankPath } from './preset.ts';

/** Servers that a team runs. They need no key, and often have the other text protocols too. */
const selfHosted = {
  speaks: ['chat', 'embeddings', 'completions'],
  paths: {
    chat: openaiPaths.chat,
    embeddings: openaiPaths.embeddings,
    completions: openaiPaths.completions,
    responses: openaiPaths.responses,
    messages: '/messages',
    'messages.count_tokens': '/messages/count_tokens',
  },
  modelList: openaiModelList,
  key: { ...bearer, required: false },
  builtInTools: [],
} as const satisfies Partial<Preset>;

/** Servers that a team runs itself, at the addresses that they listen on by default. */
export const SELF_HOSTED = {
  ollama: {
    ...selfHosted,
    baseUrl: 'http://127.0.0.1:11434/v1',
    baseUrlVariable: 'OLLAMA_BASE_URL',
    quirks: {
      parallelToolCalls: false,
      strictTools: false,
      reasoningMembers: ['reasoning', 'reasoning_content'],
      reasoningBack: 'known',
      efforts: ['none', 'low', 'medium', 'high'],
    },
  },
  vllm: {
    ...selfHosted,
    speaks: ['chat', 'embeddings', 'rerank', 'completions'],
    paths: { ...selfHosted.paths, rerank: rerankPath },
    baseUrl: 'http://127.0.0.1:8000/v1',
    quirks: {
      reasoningMembers: ['reasoning', 'reasoning_content'],
      efforts: ['none', 'low', 'medium', 'high'],
    },
  },
  // Its chat is the fullest. Its Responses has no output_index and calls a cut answer completed, its Messages begins a
  // tool_use without input, and a named tool choice is ignored under all three.
  'llama-cpp': {
    ...selfHosted,
    speaks: ['chat', 'embeddings', 'rerank', 'completions'],
    baseUrl: 'http://127.0.0.1:8080/v1',
    paths: {
      ...selfHosted.paths,
      'chat.input_tokens': '/chat/completions/input_tokens',
      'responses.input_tokens': openaiPaths['responses.input_tokens'],
      rerank: rerankPath,
    },
    quirks: { strictTools: false, namedToolChoice: false, reasoningBack: 'known' },
  },
  'lm-studio': {
    ...selfHosted,
    baseUrl: 'http://127.0.0.1:1234/v1',
    quirks: { parallelToolCalls: false, strictTools: false, efforts: ['none', 'low', 'medium', 'high'] },
  },
} as const satisfies Record<string, Preset>;
