import {
  byVendor,
  CONVERSE_MODELS,
  CONVERSE_QUIRKS,
  conversePaths,
  IMAGE_MODELS,
  invokePaths,
  RETRIEVAL_FORMS,
  RETRIEVAL_MODELS,
  retrievalPaths,
} from './bedrock-models.ts';
import { CLAUDE_BY_INVOKE, CLAUDE_ON_BEDROCK, CLAUDE_ON_VERTEX, OPENAI_ELSEWHERE } from './cloud-quirks.ts';
import { GEMINI, GEMINI_FAMILIES, geminiPaths, geminiQuirks } from './gemini.ts';
import { googleMediaPaths } from './media-providers.ts';
import { awsDomain, foundryPath, vertexHost } from './place.ts';
import { bearer, messagesPaths, openaiPaths, openaiProtocols, type Preset } from './preset.ts';

/** Below one path, as on the clouds. */
const openaiTextBelow = <Base extends string>(base: Base) =>
  ({
    chat: `${base}${openaiPaths.chat}`,
    responses: `${base}${openaiPaths.responses}`,
  }) as const;

export const anthropicPaths = {
  messages: `/anthropic${messagesPaths.messages}`,
  'messages.count_tokens': `/anthropic${messagesPaths['messages.count_tokens']}`,
} as const;

/** The models of Bedrock that have their makers' protocols. */
const NATIVE_MODELS = [
  { ids: byVendor('anthropic'), speaks: ['messages'] },
  { ids: byVendor('openai', 'xai'), speaks: ['responses', 'chat'] },
  { ids: byVendor('qwen', 'google', 'moonshot', 'moonshotai', 'zai', 'minimax'), speaks: ['chat'] },
] as const satisfies Preset['speaksOf'];

const BEDROCK_RUNTIME = {
  baseUrl: 'https://bedrock-runtime.{region}.{domain}',
  auth: { awsService: 'bedrock', types: ['aws'] },
  headers: {
    'x-amzn-bedrock-guardrailidentifier': '{guardrailId}',
    'x-amzn-bedrock-guardrailversion': '{guardrailVersion}',
    'x-amzn-bedrock-trace': '{guardrailTrace}',
  },
} as const satisfies Partial<Preset>;

const VERTEX_EMBEDDINGS = /^(?:gemini-embedding-|text-embedding-|text-multilingual-embedding-)/;

/** Gemini's embed one text in a call, and only the first one is called as those before it. */
const VERTEX_EMBEDDING_FORMS: NonNullable<Preset['quirksOfModels']> = [
  { ids: /^gemini-embedding-001$/, protocol: 'embeddings', quirks: { maxInputs: 1 } },
  {
    ids: /^gemini-/,
    protocol: 'embeddings',
    quirks: { embeddingsForm: 'vertex-embed-content', maxInputs: 1 },
  },
];

/** Companies' clouds, which serve the models of several makers. */
export const CLOUD_PROVIDERS = {
  bedrock: {
    ...BEDROCK_RUNTIME,
    settings: { region: 'required', endpoint: 'optional', guardrail: 'optional' },
    words: awsDomain,
    speaks: ['messages', 'responses', 'chat', 'converse', 'embeddings', 'rerank', 'images'],
    library: 'bedrock',
    paths: {
      messages: anthropicPaths.messages,
      ...openaiTextBelow('/openai/v1'),
      ...conversePaths,
      ...retrievalPaths,
      // Its library knows the path.
      'images.generations': '',
      'images.edits': '',
    },
    speaksOf: [
      ...NATIVE_MODELS,
      ...RETRIEVAL_MODELS,
      ...IMAGE_MODELS,
      { ids: byVendor('amazon', 'meta', 'mistral', 'cohere', 'ai21', 'writer'), speaks: ['converse'] },
    ],
    quirksOfModels: [...CONVERSE_MODELS, ...RETRIEVAL_FORMS],
    key: { ...bearer, required: true },
    builtInTools: ['tool_search_tool'],
    quirksOf: {
      messages: CLAUDE_ON_BEDROCK,
      converse: CONVERSE_QUIRKS,
      responses: { ...OPENAI_ELSEWHERE, encryptedReasoning: false, reasoningSummary: false },
    },
    endpoints: {
      // Other ids (without a geography), other quotas; and a guardrail's headers do nothing.
      mantle: {
        baseUrl: 'https://bedrock-mantle.{region}.api.aws',
        auth: { awsService: 'bedrock-mantle', types: ['aws'] },
        settings: { region: 'required', endpoint: 'optional' },
        headers: {},
        speaks: ['messages', 'responses', 'chat'],
        speaksOf: NATIVE_MODELS,
        modelList: { path: '/v1/models', form: 'data' },
        paths: { ...anthropicPaths, ...openaiTextBelow('/openai/v1') },
      },
      // Claude where the runtime's own Messages path is not: for ARNs of profiles, which say no vendor, and in some regions.
      invoke: {
        speaks: ['messages'],
        speaksOf: [{ ids: /^/, speaks: ['messages'] }],
        paths: invokePaths,
        quirksOf: { messages: CLAUDE_BY_INVOKE },
      },
    },
  },
  // Anthropic's own service, billed by AWS.
  'anthropic-aws': {
    baseUrl: 'https://aws-external-anthropic.{region}.api.aws',
    pathsBeginWith: '/v1',
    settings: { region: 'required', workspaceId: 'required' },
    headers: { 'anthropic-workspace-id': '{workspaceId}' },
    speaks: ['messages'],
    paths: messagesPaths,
    key: { header: 'x-api-key', prefix: '', required: true },
    auth: { awsService: 'aws-external-anthropic', types: ['aws'] },
    builtInTools: 'any',
    quirks: { ownValues: false, messageThreads: true, compaction: true },
  },
  vertex: {
    baseUrl: 'https://{host}',
    basePath: '/v1/projects/{project}/locations/{location}',
    settings: { project: 'required', location: 'required' },
    words: vertexHost,
    speaks: ['messages', 'gemini', 'chat', 'responses', 'images', 'speech', 'embeddings'],
    library: 'vertex',
    paths: {
      ...geminiPaths('/publishers/google'),
      ...googleMediaPaths('/publishers/google'),
      embeddings: '/publishers/google/models/{model}',
      messages: {
        whole: '/publishers/anthropic/models/{model}:rawPredict',
        streamed: '/publishers/anthropic/models/{model}:streamRawPredict',
      },
      'messages.count_tokens': '/publishers/anthropic/models/count-tokens:rawPredict',
      chat: '/endpoints/openapi/chat/completions',
      responses: '/publishers/openai/v1/responses',
    },
    speaksOf: [
      { ids: /^claude-/, speaks: ['messages'] },
      { ids: VERTEX_EMBEDDINGS, speaks: ['embeddings'] },
      { ids: /^gemini-/, speaks: ['gemini', 'images', 'speech'] },
      { ids: /^imagen-/, speaks: ['images'] },
      { ids: /^[\w.-]+\//, speaks: ['chat'] },
    ],
    key: { header: 'x-goog-api-key', prefix: '', required: true },
    auth: { types: ['google'] },
    builtInTools: ['tool_search_tool'],
    quirksOf: {
      messages: CLAUDE_ON_VERTEX,
      responses: OPENAI_ELSEWHERE,
      chat: GEMINI.alone.chat.quirks,
      gemini: { ...geminiQuirks, wrappedCounts: false, refusedMembers: ['serviceTier'] },
      // Of 20,000 tokens in one request, which 25 texts of the usual length stay below.
      embeddings: { embeddingsForm: 'vertex-predict', maxInputs: 25 },
    },
    quirksOfModels: [...GEMINI_FAMILIES, ...VERTEX_EMBEDDING_FORMS],
  },
  // Models are named by deployment, which says nothing about the model: Claude's routes say `speaks: [messages]`.
  foundry: {
    baseUrl: 'https://{resource}.services.ai.azure.com',
    settings: { resource: 'unless-base-url', project: 'optional' },
    words: foundryPath,
    speaks: openaiProtocols,
    modelList: { path: '/openai/v1/models', form: 'data', isCatalogue: true },
    paths: {
      ...anthropicPaths,
      ...openaiTextBelow('{openai}'),
      'images.generations': `{openai}${openaiPaths['images.generations']}`,
      'images.edits': `{openai}${openaiPaths['images.edits']}`,
      speech: `{openai}${openaiPaths.speech}`,
      transcriptions: `{openai}${openaiPaths.transcriptions}`,
      embeddings: `{openai}${openaiPaths.embeddings}`,
    },
    key: { header: 'api-key', prefix: '', required: true },
    auth: { entraScope: 'https://ai.azure.com/.default', types: ['entra'] },
    builtInTools: 'any',
    quirksOf: {
      messages: { ownValues: false, compaction: true },
      responses: { ...OPENAI_ELSEWHERE, customTools: true, unstoredResponses: true },
      chat: { ...OPENAI_ELSEWHERE, customTools: true },
    },
  },
} as const satisfies Record<string, Preset>;
