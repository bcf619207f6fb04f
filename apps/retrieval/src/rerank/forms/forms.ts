import { readSchema } from '@gateway/contracts/json/read-schema';
import { maybe } from '@gateway/contracts/json/reply-members';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { z } from 'zod';
import type { Ranked, RerankForm, RerankOrder, RerankUsage } from './rerank-form.ts';

const index = z.int().min(0);
const Results = z.looseObject({ results: z.array(z.looseObject({ index, relevance_score: z.number() })) });
const Data = z.looseObject({ data: z.array(z.looseObject({ index, relevance_score: z.number() })) });
const Scores = z.array(z.looseObject({ index, score: z.number() }));

const count = z.unknown().optional();
const Reported = z.looseObject({
  usage: maybe(z.looseObject({ total_tokens: count, prompt_tokens: count })),
  meta: maybe(
    z.looseObject({
      billed_units: maybe(z.looseObject({ search_units: count, input_tokens: count })),
      tokens: maybe(z.looseObject({ input_tokens: count })),
    }),
  ),
});

/** Wherever one of these servers says it. */
function usageIn(reply: unknown): RerankUsage {
  const { usage, meta } = readSchema(Reported, reply)?.data ?? {};
  return {
    tokens:
      reportedCount(usage?.total_tokens) ||
      reportedCount(usage?.prompt_tokens) ||
      reportedCount(meta?.billed_units?.input_tokens) ||
      reportedCount(meta?.tokens?.input_tokens) ||
      null,
    searches: reportedCount(meta?.billed_units?.search_units) || null,
  };
}

const scored = (
  entries: readonly { index: number; relevance_score: number }[] | undefined,
): Ranked[] | null => entries?.map((entry) => ({ index: entry.index, score: entry.relevance_score })) ?? null;

const resultsIn = (reply: unknown) => scored(readSchema(Results, reply)?.data.results);

/** Jina's form, which vLLM, llama.cpp, Infinity and others have. The gateway has the documents itself, so that none comes back. */
const JINA: RerankForm = {
  takes: [],
  write: ({ request: { query, top_n }, documents, model }) => ({
    ...{ model, query, documents },
    ...(top_n && { top_n }),
    return_documents: false,
  }),
  rankedIn: resultsIn,
  usageIn,
};

const cohereBody = ({ request: { query, top_n, max_tokens_per_doc }, documents }: RerankOrder) => ({
  ...{ query, documents },
  ...(top_n && { top_n }),
  ...(max_tokens_per_doc && { max_tokens_per_doc }),
});

/** Cohere's second version. */
const COHERE: RerankForm = {
  takes: ['max_tokens_per_doc'],
  write: (order) => ({ model: order.model, ...cohereBody(order) }),
  rankedIn: resultsIn,
  usageIn,
};

/** Cohere's models on Bedrock, by InvokeModel. */
const BEDROCK_COHERE: RerankForm = {
  ...COHERE,
  write: (order) => ({ ...cohereBody(order), api_version: 2 }),
};

const VOYAGE: RerankForm = {
  takes: ['truncation'],
  write: ({ request: { query, top_n, truncation }, documents, model }) => ({
    ...{ model, query, documents },
    ...(top_n && { top_k: top_n }),
    ...(truncation !== undefined && { truncation }),
  }),
  rankedIn: (reply) => scored(readSchema(Data, reply)?.data.data),
  usageIn,
};

/** Hugging Face's Text Embeddings Inference, which serves one model and returns all scores. */
const TEI: RerankForm = {
  takes: ['raw_scores', 'truncate'],
  write: ({ request: { query, raw_scores, truncate }, documents }) => ({
    ...{ query, texts: documents },
    ...(raw_scores !== undefined && { raw_scores }),
    ...(truncate !== undefined && { truncate }),
  }),
  rankedIn: (reply) => readSchema(Scores, reply)?.data ?? null,
  usageIn: () => ({ tokens: null, searches: null }),
};

/** Every form by its name in the quirks of a route. */
export const RERANK_FORMS = {
  jina: JINA,
  cohere: COHERE,
  'bedrock-cohere': BEDROCK_COHERE,
  voyage: VOYAGE,
  tei: TEI,
} as const;
