import type { QuirksInput } from '@gateway/contracts/quirks';
import type { LibraryName } from '../libraries/libraries.ts';
import type { Operation, Protocol } from '../protocol.ts';

/** The defaults of a kind of provider, which the configuration may replace. */
export interface Preset {
  /** Null if every account has its own, so that the configuration must set it. */
  readonly baseUrl: string | null;
  /** An environment variable that replaces `baseUrl`. */
  readonly baseUrlVariable?: string;
  /** Appended to a base URL without a path. */
  readonly basePath?: string;
  /** A path that the base URL must not end in, because `paths` begin with it. */
  readonly pathsBeginWith?: string;
  readonly speaks: readonly Protocol[];
  /** Path of each operation, after the base URL. A protocol without paths cannot be used. */
  readonly paths: Readonly<Partial<Record<Operation, string>>>;
  /** `fallback` is sent where none is configured. */
  readonly key: {
    readonly header: string;
    readonly prefix: string;
    readonly required: boolean;
    readonly fallback?: string;
  };
  /** Which built-in tools a route has when the configuration does not list them. */
  readonly builtInTools: 'any' | readonly string[];
  /** How it departs from its protocols' published forms. */
  readonly quirks?: QuirksInput;
  /** It speaks none of the protocols: its own client library does, and knows the paths. */
  readonly library?: LibraryName;
}

const openaiPaths = {
  responses: '/responses',
  'responses.input_tokens': '/responses/input_tokens',
  'responses.compact': '/responses/compact',
  chat: '/chat/completions',
  'images.generations': '/images/generations',
  'images.edits': '/images/edits',
  speech: '/audio/speech',
  transcriptions: '/audio/transcriptions',
} as const satisfies Partial<Record<Operation, string>>;

const messagesPaths = {
  messages: '/v1/messages',
  'messages.count_tokens': '/v1/messages/count_tokens',
} as const satisfies Partial<Record<Operation, string>>;

const openaiProtocols = ['responses', 'chat', 'images', 'speech', 'transcriptions'] as const;
const bearer = { header: 'authorization', prefix: 'Bearer ' } as const;

/** Only Chat Completions, which most servers of other makers have. */
const chatOnly = {
  speaks: ['chat'],
  paths: { chat: openaiPaths.chat },
  builtInTools: [],
} as const satisfies Partial<Preset>;

/** Servers that a team runs. They need no key, and often have the other text protocols too. */
const selfHosted = {
  speaks: ['chat'],
  paths: {
    chat: openaiPaths.chat,
    responses: openaiPaths.responses,
    messages: '/messages',
    'messages.count_tokens': '/messages/count_tokens',
  },
  key: { ...bearer, required: false },
  builtInTools: [],
} as const satisfies Partial<Preset>;

/** OpenAI's own Chat Completions, where it differs from other servers' versions. */
const openaiQuirks = {
  backgroundResponses: true,
  maxTokensMember: 'max_completion_tokens',
  instructionRole: 'developer',
  customTools: true,
  storedResponses: true,
  compaction: true,
} as const satisfies QuirksInput;

/** Operations of media, for libraries that know their own paths below the base URL. */
const OWN_PATHS = {
  'images.generations': '',
  'images.edits': '',
  speech: '',
  transcriptions: '',
} as const satisfies Preset['paths'];

/** Providers of media that are called through their own client library. */
const throughLibrary = <Speaks extends Protocol>(library: LibraryName, speaks: readonly Speaks[]) => ({
  library,
  speaks,
  paths: Object.fromEntries(
    Object.entries(OWN_PATHS).filter(([operation]) =>
      speaks.some((protocol) => operation.startsWith(protocol)),
    ),
  ),
  builtInTools: [],
});

export const PRESETS = {
  openai: {
    baseUrl: 'https://api.openai.com/v1',
    speaks: openaiProtocols,
    paths: openaiPaths,
    key: { ...bearer, required: true },
    builtInTools: 'any',
    quirks: openaiQuirks,
  },
  anthropic: {
    baseUrl: 'https://api.anthropic.com',
    pathsBeginWith: '/v1',
    speaks: ['messages'],
    paths: messagesPaths,
    key: { header: 'x-api-key', prefix: '', required: true },
    builtInTools: 'any',
    quirks: { messageThreads: true, compaction: true },
  },
  // The v1 API: no api-version parameter, models named by deployment in the body.
  'azure-openai': {
    baseUrl: null,
    basePath: '/openai/v1',
    speaks: openaiProtocols,
    paths: openaiPaths,
    key: { header: 'api-key', prefix: '', required: true },
    builtInTools: 'any',
    quirks: openaiQuirks,
  },
  // Servers of this kind reliably have chat; `speaks` lists a server's further protocols. Some also have Messages.
  'openai-compatible': {
    baseUrl: null,
    speaks: ['chat'],
    paths: { ...openaiPaths, messages: '/messages', 'messages.count_tokens': '/messages/count_tokens' },
    key: { ...bearer, required: false },
    builtInTools: [],
  },
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
    baseUrl: 'http://127.0.0.1:8080/v1',
    paths: {
      ...selfHosted.paths,
      'chat.input_tokens': '/chat/completions/input_tokens',
      'responses.input_tokens': openaiPaths['responses.input_tokens'],
    },
    quirks: { strictTools: false, namedToolChoice: false, reasoningBack: 'known' },
  },
  'lm-studio': {
    ...selfHosted,
    baseUrl: 'http://127.0.0.1:1234/v1',
    quirks: { parallelToolCalls: false, strictTools: false, efforts: ['none', 'low', 'medium', 'high'] },
  },
  // The path of Google's OpenAI-compatible surface; its keys are those of the Gemini API.
  gemini: {
    ...chatOnly,
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    key: { ...bearer, required: true },
    quirks: {
      parallelToolCalls: false,
      strictTools: false,
      penalties: false,
      efforts: ['none', 'minimal', 'low', 'medium', 'high'],
      refusedMembers: ['prompt_cache_key', 'prompt_cache_retention', 'safety_identifier'],
    },
  },
  mistral: {
    ...chatOnly,
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
        'prompt_cache_key',
        'prompt_cache_retention',
      ],
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
      maxTokensMember: 'max_completion_tokens',
      penalties: false,
      reasoningSummary: false,
      // Its reasoning models refuse both; the few that accept an effort get `efforts` on a route.
      maxStopSequences: 0,
      efforts: [],
    },
  },
  elevenlabs: {
    ...throughLibrary('elevenlabs', ['speech', 'transcriptions']),
    baseUrl: 'https://api.elevenlabs.io',
    key: { header: 'xi-api-key', prefix: '', required: true },
  },
  deepgram: {
    ...throughLibrary('deepgram', ['speech', 'transcriptions']),
    baseUrl: 'https://api.deepgram.com',
    key: { header: 'authorization', prefix: 'Token ', required: true },
  },
  assemblyai: {
    ...throughLibrary('assemblyai', ['transcriptions']),
    baseUrl: 'https://api.assemblyai.com',
    key: { header: 'authorization', prefix: '', required: true },
  },
  // Gemini's own API, for what its OpenAI-compatible surface lacks.
  google: {
    ...throughLibrary('google', ['images', 'speech', 'transcriptions']),
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    key: { header: 'x-goog-api-key', prefix: '', required: true },
  },
  'black-forest-labs': {
    ...throughLibrary('black-forest-labs', ['images']),
    baseUrl: 'https://api.bfl.ai/v1',
    key: { header: 'x-key', prefix: '', required: true },
  },
  fal: {
    ...throughLibrary('fal', ['images']),
    baseUrl: 'https://fal.run',
    key: { header: 'authorization', prefix: 'Key ', required: true },
  },
  replicate: {
    ...throughLibrary('replicate', ['images']),
    baseUrl: 'https://api.replicate.com/v1',
    key: { ...bearer, required: true },
  },
  simulator: {
    baseUrl: 'http://127.0.0.1:8089',
    baseUrlVariable: 'SIMULATOR_URL',
    pathsBeginWith: '/v1',
    speaks: [...openaiProtocols, 'messages'],
    paths: {
      responses: '/v1/responses',
      'responses.input_tokens': '/v1/responses/input_tokens',
      'responses.compact': '/v1/responses/compact',
      chat: '/v1/chat/completions',
      'images.generations': '/v1/images/generations',
      'images.edits': '/v1/images/edits',
      speech: '/v1/audio/speech',
      transcriptions: '/v1/audio/transcriptions',
      ...messagesPaths,
    },
    // It accepts every key, but, like a real provider, requires one.
    key: { ...bearer, required: false, fallback: 'simulator' },
    builtInTools: 'any',
    quirks: { messageThreads: true, backgroundResponses: true, storedResponses: true, compaction: true },
  },
} as const satisfies Record<string, Preset>;

export type Provider = keyof typeof PRESETS;

/** The table again, with every row under its common type. */
export const presetOf = (provider: Provider): Preset => PRESETS[provider];
