import type { QuirksInput } from '@gateway/contracts/quirks';
import type { Preset } from './preset.ts';

/** Ids of Bedrock: `[geo.]vendor.model`. */
const GEO = '(?:(?:us|eu|apac|jp|au|in|ca|sa|us-gov|global)\\.)?';
export const byVendor = (...vendors: readonly string[]) => new RegExp(`^${GEO}(?:${vendors.join('|')})\\.`);

/** And by how the rest of them begins. */
export const byName = (...beginnings: readonly string[]) => new RegExp(`^${GEO}(?:${beginnings.join('|')})`);

const row = (vendors: readonly string[], quirks: QuirksInput) =>
  ({ ids: byVendor(...vendors), protocol: 'converse', quirks }) as const;

const NO_CACHE = { cachePoints: [] } as const satisfies QuirksInput;
/** AWS documents a choice that demands a call for Claude, Nova and Mistral. */
const FREE_CHOICE = { demandedCalls: false } as const satisfies QuirksInput;

/**
 * What models take by Converse, as far as their vendor decides it. An ARN says no vendor: what its model takes is said by its
 * route's `quirks`; cache points are tried, and left out where they are refused.
 */
export const CONVERSE_MODELS: NonNullable<Preset['quirksOfModels']> = [
  row(['anthropic'], { reasoningVendor: 'anthropic', reasoningRequest: 'thinking', topKMember: 'top_k' }),
  row(['amazon'], {
    reasoningRequest: 'reasoningConfig',
    efforts: ['none', 'low', 'medium', 'high'],
    topKMember: 'inferenceConfig.topK',
    cachePoints: ['system', 'messages'],
  }),
  row(['openai'], { ...NO_CACHE, reasoningRequest: 'reasoning_effort', maxStopSequences: 0 }),
  row(['meta'], { ...NO_CACHE, ...FREE_CHOICE, maxStopSequences: 0, streamedTools: false }),
  row(['mistral'], {
    ...NO_CACHE,
    toolCallIds: 'nine-alphanumeric',
    namedToolChoice: false,
    topKMember: 'top_k',
  }),
  row(['cohere'], { ...NO_CACHE, ...FREE_CHOICE, topKMember: 'k' }),
  row(['ai21', 'deepseek', 'google', 'minimax', 'moonshot', 'moonshotai', 'qwen', 'writer', 'zai'], NO_CACHE),
];

/** Of all its models: AWS refuses both for most of them, or does not keep to them. */
export const CONVERSE_QUIRKS = {
  structuredOutput: 'none',
  strictTools: false,
} as const satisfies QuirksInput;

export const conversePaths = {
  converse: { whole: '/model/{model}/converse', streamed: '/model/{model}/converse-stream' },
  'converse.count_tokens': '/model/{model}/count-tokens',
} as const satisfies Preset['paths'];

const TITAN_EMBEDDINGS = byName('amazon\\.titan-embed-');
const NOVA_EMBEDDINGS = byName('amazon\\.nova-2-multimodal-embeddings');
const COHERE_EMBEDDINGS = byName('cohere\\.embed-');
const COHERE_RERANK = byName('cohere\\.rerank-');

/** What is served by InvokeModel alone, though its makers' other models have Converse. */
export const RETRIEVAL_MODELS = [
  { ids: TITAN_EMBEDDINGS, speaks: ['embeddings'] },
  { ids: NOVA_EMBEDDINGS, speaks: ['embeddings'] },
  { ids: COHERE_EMBEDDINGS, speaks: ['embeddings'] },
  { ids: COHERE_RERANK, speaks: ['rerank'] },
] as const satisfies Preset['speaksOf'];

/** Images come by InvokeModel alone, too. */
export const IMAGE_MODELS = [
  { ids: byName('amazon\\.nova-canvas', 'amazon\\.titan-image', 'stability\\.'), speaks: ['images'] },
] as const satisfies Preset['speaksOf'];

/** By InvokeModel each maker has a body of its own. An ARN says no maker: its route's `quirks` say the form. */
export const RETRIEVAL_FORMS: NonNullable<Preset['quirksOfModels']> = [
  {
    ids: TITAN_EMBEDDINGS,
    protocol: 'embeddings',
    quirks: { embeddingsForm: 'bedrock-titan', maxInputs: 1 },
  },
  { ids: NOVA_EMBEDDINGS, protocol: 'embeddings', quirks: { embeddingsForm: 'bedrock-nova', maxInputs: 1 } },
  {
    ids: COHERE_EMBEDDINGS,
    protocol: 'embeddings',
    quirks: { embeddingsForm: 'bedrock-cohere', maxInputs: 96 },
  },
  { ids: COHERE_RERANK, protocol: 'rerank', quirks: { rerankForm: 'bedrock-cohere' } },
];

const INVOKE = '/model/{model}/invoke';

export const retrievalPaths = { embeddings: INVOKE, rerank: INVOKE } as const satisfies Preset['paths'];

/** InvokeModel, with the body of the model's maker. */
export const invokePaths = {
  messages: { whole: INVOKE, streamed: '/model/{model}/invoke-with-response-stream' },
} as const satisfies Preset['paths'];
