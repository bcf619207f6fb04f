import type { Operation, Protocol } from '../protocol.ts';

/** What is known about a kind of provider before the configuration says anything. */
export interface Preset {
  /** Null where every account has its own, so that the configuration must give it. */
  readonly baseUrl: string | null;
  /** An environment variable that replaces `baseUrl`. */
  readonly baseUrlVariable?: string;
  /** Put behind a base URL that has no path of its own. */
  readonly basePath?: string;
  /** A path that the base URL must not end in, because `paths` begin with it. */
  readonly pathsBeginWith?: string;
  readonly speaks: readonly Protocol[];
  /** Path of each operation, behind the base URL. A protocol without paths cannot be spoken. */
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
}

const openaiPaths = {
  responses: '/responses',
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

const openaiSpeaks = ['responses', 'chat', 'images', 'speech', 'transcriptions'] as const;
const bearer = { header: 'authorization', prefix: 'Bearer ' } as const;

export const PRESETS = {
  openai: {
    baseUrl: 'https://api.openai.com/v1',
    speaks: openaiSpeaks,
    paths: openaiPaths,
    key: { ...bearer, required: true },
    builtInTools: 'any',
  },
  anthropic: {
    baseUrl: 'https://api.anthropic.com',
    pathsBeginWith: '/v1',
    speaks: ['messages'],
    paths: messagesPaths,
    key: { header: 'x-api-key', prefix: '', required: true },
    builtInTools: 'any',
  },
  // The v1 API: no api-version parameter, models named by deployment in the body.
  'azure-openai': {
    baseUrl: null,
    basePath: '/openai/v1',
    speaks: openaiSpeaks,
    paths: openaiPaths,
    key: { header: 'api-key', prefix: '', required: true },
    builtInTools: 'any',
  },
  // Servers of this kind reliably have chat; what else one has is said by `speaks`. Some serve Messages beside it.
  'openai-compatible': {
    baseUrl: null,
    speaks: ['chat'],
    paths: { ...openaiPaths, messages: '/messages', 'messages.count_tokens': '/messages/count_tokens' },
    key: { ...bearer, required: false },
    builtInTools: [],
  },
  simulator: {
    baseUrl: 'http://127.0.0.1:8089',
    baseUrlVariable: 'SIMULATOR_URL',
    pathsBeginWith: '/v1',
    speaks: [...openaiSpeaks, 'messages'],
    paths: {
      responses: '/v1/responses',
      chat: '/v1/chat/completions',
      'images.generations': '/v1/images/generations',
      'images.edits': '/v1/images/edits',
      speech: '/v1/audio/speech',
      transcriptions: '/v1/audio/transcriptions',
      ...messagesPaths,
    },
    // It accepts every key, but, as a real provider, not none.
    key: { ...bearer, required: false, fallback: 'simulator' },
    builtInTools: 'any',
  },
} as const satisfies Record<string, Preset>;

export type Provider = keyof typeof PRESETS;

/** The table again, with every row under its common type. */
export const presetOf = (provider: Provider): Preset => PRESETS[provider];
