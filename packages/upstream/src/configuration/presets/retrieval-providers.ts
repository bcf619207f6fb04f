import { bearer, openaiPaths, type Preset, rerankPath } from './preset.ts';

/** Companies and servers whose models embed texts, or sort them by how well they answer a query. */
export const RETRIEVAL_PROVIDERS = {
  jina: {
    baseUrl: 'https://api.jina.ai/v1',
    speaks: ['embeddings', 'rerank'],
    paths: { embeddings: openaiPaths.embeddings, rerank: rerankPath },
    key: { ...bearer, required: true },
    builtInTools: [],
    // Its word for `input_type` is `task`, which callers may send themselves.
    quirksOf: { embeddings: { refusedMembers: ['input_type', 'user'] } },
  },
  voyage: {
    baseUrl: 'https://api.voyageai.com/v1',
    speaks: ['embeddings', 'rerank'],
    paths: { embeddings: openaiPaths.embeddings, rerank: rerankPath },
    key: { ...bearer, required: true },
    builtInTools: [],
    quirksOf: {
      embeddings: {
        renamedMembers: { dimensions: 'output_dimension' },
        refusedMembers: ['user'],
        maxInputs: 1000,
      },
      rerank: { rerankForm: 'voyage' },
    },
  },
  cohere: {
    baseUrl: 'https://api.cohere.com',
    speaks: ['embeddings', 'rerank'],
    paths: { embeddings: '/v2/embed', rerank: '/v2/rerank' },
    modelList: { path: '/v1/models?page_size=1000', form: 'models' },
    key: { ...bearer, required: true },
    builtInTools: [],
    quirksOf: {
      embeddings: { embeddingsForm: 'cohere', maxInputs: 96 },
      rerank: { rerankForm: 'cohere' },
    },
  },
  // Hugging Face's Text Embeddings Inference.
  tei: {
    baseUrl: 'http://127.0.0.1:8080',
    speaks: ['embeddings', 'rerank'],
    paths: { embeddings: '/v1/embeddings', rerank: rerankPath },
    key: { ...bearer, required: false },
    builtInTools: [],
    quirksOf: { rerank: { rerankForm: 'tei' } },
  },
} as const satisfies Record<string, Preset>;
