import type { Provider } from '@gateway/upstream/configuration/presets/presets';

/** What a provider of LiteLLM's becomes. */
export interface ImportedProvider {
  readonly provider: Provider;
  /** The variables that LiteLLM reads where the file has no key, no address. */
  readonly keyVariable?: string;
  readonly baseVariable?: string;
  /** Its address, where no kind of provider of ours knows it. */
  readonly baseUrl?: string;
  /** What LiteLLM adds to the address in the file. */
  readonly path?: string;
  /** What its text models are reached by, where that is another. */
  readonly text?: ImportedProvider;
  /** Its own settings, instead of a key and an address. */
  readonly settings?: 'aws' | 'google' | 'azure' | 'foundry';
}

const compatible = (baseUrl: string, keyVariable: string): ImportedProvider => ({
  provider: 'openai-compatible',
  baseUrl,
  keyVariable,
});

/** Cohere's chat models, by the paths that it has for clients of OpenAI's. */
const COHERE_CHAT = compatible('https://api.cohere.ai/compatibility/v1', 'COHERE_API_KEY');

/** By the word before the first `/` of `litellm_params.model`. */
export const PROVIDERS: Readonly<Record<string, ImportedProvider>> = {
  openai: { provider: 'openai', keyVariable: 'OPENAI_API_KEY', baseVariable: 'OPENAI_API_BASE' },
  anthropic: {
    provider: 'anthropic',
    keyVariable: 'ANTHROPIC_API_KEY',
    baseVariable: 'ANTHROPIC_API_BASE',
  },
  azure: {
    provider: 'azure-openai',
    keyVariable: 'AZURE_API_KEY',
    baseVariable: 'AZURE_API_BASE',
    settings: 'azure',
  },
  azure_ai: { provider: 'foundry', keyVariable: 'AZURE_AI_API_KEY', settings: 'foundry' },
  bedrock: { provider: 'bedrock', settings: 'aws' },
  bedrock_converse: { provider: 'bedrock', settings: 'aws' },
  vertex_ai: { provider: 'vertex', settings: 'google' },
  vertex_ai_beta: { provider: 'vertex', settings: 'google' },
  gemini: { provider: 'gemini', keyVariable: 'GEMINI_API_KEY' },
  mistral: { provider: 'mistral', keyVariable: 'MISTRAL_API_KEY' },
  codestral: compatible('https://codestral.mistral.ai/v1', 'CODESTRAL_API_KEY'),
  groq: { provider: 'groq', keyVariable: 'GROQ_API_KEY' },
  deepseek: { provider: 'deepseek', keyVariable: 'DEEPSEEK_API_KEY' },
  openrouter: { provider: 'openrouter', keyVariable: 'OPENROUTER_API_KEY' },
  xai: { provider: 'xai', keyVariable: 'XAI_API_KEY' },
  ollama: { provider: 'ollama', path: '/v1' },
  ollama_chat: { provider: 'ollama', path: '/v1' },
  hosted_vllm: { provider: 'vllm' },
  vllm: { provider: 'vllm' },
  lm_studio: { provider: 'lm-studio' },
  llamafile: { provider: 'llama-cpp' },
  custom_openai: { provider: 'openai-compatible', keyVariable: 'OPENAI_API_KEY' },
  openai_like: { provider: 'openai-compatible' },
  litellm_proxy: { provider: 'openai-compatible' },
  xinference: { provider: 'openai-compatible' },
  cohere: { provider: 'cohere', keyVariable: 'COHERE_API_KEY', text: COHERE_CHAT },
  cohere_chat: COHERE_CHAT,
  voyage: { provider: 'voyage', keyVariable: 'VOYAGE_API_KEY' },
  jina_ai: { provider: 'jina', keyVariable: 'JINA_AI_API_KEY' },
  elevenlabs: { provider: 'elevenlabs', keyVariable: 'ELEVENLABS_API_KEY' },
  deepgram: { provider: 'deepgram', keyVariable: 'DEEPGRAM_API_KEY' },
  replicate: { provider: 'replicate', keyVariable: 'REPLICATE_API_KEY' },
  fal_ai: { provider: 'fal', keyVariable: 'FAL_AI_API_KEY' },
  together_ai: compatible('https://api.together.xyz/v1', 'TOGETHERAI_API_KEY'),
  fireworks_ai: compatible('https://api.fireworks.ai/inference/v1', 'FIREWORKS_AI_API_KEY'),
  deepinfra: compatible('https://api.deepinfra.com/v1/openai', 'DEEPINFRA_API_KEY'),
  perplexity: compatible('https://api.perplexity.ai', 'PERPLEXITYAI_API_KEY'),
  nvidia_nim: compatible('https://integrate.api.nvidia.com/v1', 'NVIDIA_NIM_API_KEY'),
  cerebras: compatible('https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY'),
  sambanova: compatible('https://api.sambanova.ai/v1', 'SAMBANOVA_API_KEY'),
  moonshot: compatible('https://api.moonshot.ai/v1', 'MOONSHOT_API_KEY'),
  dashscope: compatible('https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'DASHSCOPE_API_KEY'),
  volcengine: compatible('https://ark.cn-beijing.volces.com/api/v3', 'VOLCENGINE_API_KEY'),
  zai: compatible('https://api.z.ai/api/paas/v4', 'ZAI_API_KEY'),
  nebius: compatible('https://api.studio.nebius.ai/v1', 'NEBIUS_API_KEY'),
  novita: compatible('https://api.novita.ai/v3/openai', 'NOVITA_API_KEY'),
  hyperbolic: compatible('https://api.hyperbolic.xyz/v1', 'HYPERBOLIC_API_KEY'),
  friendliai: compatible('https://api.friendli.ai/serverless/v1', 'FRIENDLI_TOKEN'),
};

/** Whose models LiteLLM knows by name alone, without a provider before it. */
export const BARE_NAMES: readonly (readonly [names: RegExp, provider: string])[] = [
  [/^(?:gpt-|chatgpt-|o\d|codex-|dall-e-|tts-|whisper-|text-embedding-|omni-moderation|ft:)/, 'openai'],
  [/^claude-/, 'anthropic'],
];

/** Which kind of model a `mode` is; null: the gateway has none for it. */
export const KINDS = {
  chat: 'text',
  completion: 'text',
  responses: 'text',
  image_generation: 'image',
  image_edit: 'image',
  audio_speech: 'speech',
  audio_transcription: 'transcription',
  embedding: 'embedding',
  rerank: 'rerank',
  moderation: 'moderation',
} as const;

/** The mode of a model by its own name, where the file has none and LiteLLM knows it from its list. */
export const MODE_OF_NAME: readonly (readonly [name: RegExp, mode: string])[] = [
  [/embed|^voyage-/, 'embedding'],
  [/rerank/, 'rerank'],
  [/^(?:gpt-image|dall-e|imagen|flux|stable-)|canvas|titan-image/, 'image_generation'],
  [/whisper|transcribe|^nova-[23](?:-|$)|scribe/, 'audio_transcription'],
  [/(?:^|-)tts(?:-|$)|^eleven_/, 'audio_speech'],
  [/realtime/, 'realtime'],
  [/moderation/, 'moderation'],
];
