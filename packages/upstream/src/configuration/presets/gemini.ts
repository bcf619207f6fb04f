import type { QuirksInput } from '@gateway/contracts/quirks';
import { googleMediaPaths } from './media-providers.ts';
import { bearer, openaiModelList, openaiPaths, type Preset } from './preset.ts';

/** The protocol's paths, below one that both of Google's APIs have. */
export const geminiPaths = <Base extends string>(base: Base) =>
  ({
    gemini: {
      whole: `${base}/models/{model}:generateContent`,
      streamed: `${base}/models/{model}:streamGenerateContent?alt=sse`,
    },
    'gemini.count_tokens': `${base}/models/{model}:countTokens`,
  }) as const;

export const geminiQuirks = {
  penalties: false,
  maxStopSequences: 5,
  efforts: ['none', 'minimal', 'low', 'medium', 'high'],
} as const satisfies QuirksInput;

/** Version 2.5 is steered by a budget, and its tools return texts alone. Pro always thinks. */
export const GEMINI_FAMILIES = [
  {
    ids: /^gemini-2\.5-pro/,
    protocol: 'gemini',
    quirks: { thinking: 'manual', thinkingCanBeDisabled: false, toolResultMedia: false },
  },
  { ids: /^gemini-2\./, protocol: 'gemini', quirks: { thinking: 'manual', toolResultMedia: false } },
] as const satisfies NonNullable<Preset['quirksOfModels']>;

/** The Gemini API. Its OpenAI-compatible surface loses what only the protocol of its own has, and is there by `speaks: [chat]`. */
export const GEMINI = {
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  speaks: ['gemini', 'images', 'speech', 'transcriptions', 'embeddings'],
  library: 'google',
  otherForm: {
    ending: '/openai',
    expected: 'the URL without its last /openai, or speaks: [chat] for the OpenAI-compatible API',
  },
  paths: {
    ...geminiPaths(''),
    ...googleMediaPaths(''),
    transcriptions: '',
    embeddings: '/models/{model}:batchEmbedContents',
    chat: `/openai${openaiPaths.chat}`,
  },
  modelList: { path: '/models?pageSize=1000', form: 'models' },
  key: { header: 'x-goog-api-key', prefix: '', required: true },
  builtInTools: ['web_search'],
  quirks: geminiQuirks,
  quirksOf: { embeddings: { embeddingsForm: 'gemini', maxInputs: 100 } },
  quirksOfModels: GEMINI_FAMILIES,
  alone: {
    chat: {
      baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
      otherForm: null,
      paths: { chat: openaiPaths.chat },
      modelList: openaiModelList,
      key: { ...bearer, required: true },
      builtInTools: [],
      quirks: {
        parallelToolCalls: false,
        strictTools: false,
        penalties: false,
        efforts: ['none', 'minimal', 'low', 'medium', 'high'],
        refusedMembers: ['prompt_cache_key', 'prompt_cache_retention', 'safety_identifier'],
      },
    },
  },
} as const satisfies Preset;
