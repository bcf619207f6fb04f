import type { QuirksInput } from '@gateway/contracts/quirks';
import type { Protocol } from '../../protocol.ts';
import type { ChannelSettings } from '../channel-settings.ts';
import { CHAT_PROVIDERS } from './chat-providers.ts';
import { anthropicPaths, CLOUD_PROVIDERS } from './cloud-providers.ts';
import { GEMINI } from './gemini.ts';
import { MEDIA_PROVIDERS } from './media-providers.ts';
import {
  bearer,
  messagesPaths,
  moderationsPath,
  openaiBatchPaths,
  openaiModelList,
  openaiPaths,
  openaiProtocols,
  type Preset,
  rerankPath,
} from './preset.ts';
import { RETRIEVAL_PROVIDERS } from './retrieval-providers.ts';
import { SELF_HOSTED } from './self-hosted.ts';

/** OpenAI's own Chat Completions, where it differs from other servers' versions. */
const openaiQuirks = {
  ownValues: false,
  backgroundResponses: true,
  maxTokensMember: 'max_completion_tokens',
  instructionRole: 'developer',
  customTools: true,
  storedResponses: true,
  compaction: true,
  base64Embeddings: true,
  tokenInputs: true,
} as const satisfies QuirksInput;

/** Embeddings at OpenAI refuse what only other makers' models know. */
const openaiEmbeddings = {
  embeddings: { refusedMembers: ['input_type'] },
} as const satisfies Preset['quirksOf'];

export const PRESETS = {
  openai: {
    baseUrl: 'https://api.openai.com/v1',
    speaks: [...openaiProtocols, 'moderations', 'translations', 'realtime'],
    paths: { ...openaiPaths, moderations: moderationsPath },
    modelList: openaiModelList,
    batchPaths: openaiBatchPaths,
    key: { ...bearer, required: true },
    builtInTools: 'any',
    quirks: openaiQuirks,
    quirksOf: openaiEmbeddings,
  },
  anthropic: {
    baseUrl: 'https://api.anthropic.com',
    pathsBeginWith: '/v1',
    speaks: ['messages'],
    paths: messagesPaths,
    modelList: { path: '/v1/models?limit=1000', form: 'data' },
    batchPaths: { anthropic: '/v1/messages/batches' },
    key: { header: 'x-api-key', prefix: '', required: true },
    builtInTools: 'any',
    quirks: { ownValues: false, messageThreads: true, compaction: true },
  },
  // The v1 API: no api-version parameter, models named by deployment in the body.
  'azure-openai': {
    baseUrl: 'https://{resource}.openai.azure.com',
    basePath: '/openai/v1',
    settings: { resource: 'unless-base-url' },
    speaks: [...openaiProtocols, 'realtime'],
    paths: openaiPaths,
    rootPaths: anthropicPaths,
    modelList: { ...openaiModelList, isCatalogue: true },
    batchPaths: openaiBatchPaths,
    key: { header: 'api-key', prefix: '', required: true },
    auth: { entraScope: 'https://cognitiveservices.azure.com/.default', types: ['entra'] },
    builtInTools: 'any',
    quirks: openaiQuirks,
    quirksOf: openaiEmbeddings,
  },
  // Servers of this kind reliably have chat, and embeddings where they have such models; `speaks` lists a server's further protocols.
  // Some also have Messages.
  'openai-compatible': {
    baseUrl: null,
    speaks: ['chat', 'embeddings'],
    paths: {
      ...openaiPaths,
      rerank: rerankPath,
      moderations: moderationsPath,
      messages: '/messages',
      'messages.count_tokens': '/messages/count_tokens',
    },
    modelList: openaiModelList,
    batchPaths: { ...openaiBatchPaths, anthropic: '/messages/batches' },
    key: { ...bearer, required: false },
    builtInTools: [],
  },
  ...SELF_HOSTED,
  gemini: GEMINI,
  ...CHAT_PROVIDERS,
  ...MEDIA_PROVIDERS,
  ...RETRIEVAL_PROVIDERS,
  ...CLOUD_PROVIDERS,
  simulator: {
    baseUrl: 'http://127.0.0.1:8089',
    baseUrlVariable: 'SIMULATOR_URL',
    pathsBeginWith: '/v1',
    speaks: [
      ...openaiProtocols,
      ...(['messages', 'rerank', 'moderations', 'completions', 'translations', 'realtime'] as const),
    ],
    paths: {
      responses: '/v1/responses',
      'responses.input_tokens': '/v1/responses/input_tokens',
      'responses.compact': '/v1/responses/compact',
      chat: '/v1/chat/completions',
      'images.generations': '/v1/images/generations',
      'images.edits': '/v1/images/edits',
      speech: '/v1/audio/speech',
      transcriptions: '/v1/audio/transcriptions',
      embeddings: '/v1/embeddings',
      rerank: '/v1/rerank',
      moderations: '/v1/moderations',
      completions: '/v1/completions',
      translations: '/v1/audio/translations',
      realtime: '/v1/realtime',
      ...messagesPaths,
    },
    modelList: { path: '/v1/models', form: 'data' },
    batchPaths: {
      openai: { files: '/v1/files', batches: '/v1/batches' },
      anthropic: '/v1/messages/batches',
    },
    // It accepts every key, but, like a real provider, requires one.
    key: { ...bearer, required: false, fallback: 'simulator' },
    builtInTools: 'any',
    quirks: {
      ownValues: false,
      messageThreads: true,
      backgroundResponses: true,
      storedResponses: true,
      compaction: true,
      base64Embeddings: true,
      tokenInputs: true,
    },
  },
} as const satisfies Record<string, Preset>;

export type Provider = keyof typeof PRESETS;

/** The row of a channel, in the form of its endpoint, or of the one protocol that it speaks. */
export function presetFor({ provider, endpoint, speaks }: PresetChoice): Preset {
  const preset: Preset = PRESETS[provider];
  const [only, ...others] = speaks ?? [];
  const alone = only === undefined || others.length > 0 ? undefined : preset.alone?.[only];
  const form = endpoint === undefined ? undefined : preset.endpoints?.[endpoint];
  return alone === undefined && form === undefined ? preset : { ...preset, ...alone, ...form };
}

interface PresetChoice extends Pick<ChannelSettings, 'endpoint'> {
  readonly provider: Provider;
  readonly speaks?: readonly Protocol[] | undefined;
}
