import { z } from 'zod';

/** As Cohere allows. */
const MAX_DOCUMENTS = 10_000;

/** A text, or an object whose `text`, or whose fields named by `rank_fields`, are read. */
const RerankDocument = z.union([z.string(), z.record(z.string(), z.unknown())]);

/** `POST /v1/rerank`, in the form that Jina, Cohere and others share. Only the members that the gateway checks or uses. */
export const RerankRequest = z.looseObject({
  model: z.string().min(1),
  query: z.string().min(1),
  documents: z.array(RerankDocument).min(1).max(MAX_DOCUMENTS),
  /** How many of the best are returned. Absent: all. */
  top_n: z.int().min(1).nullish(),
  return_documents: z.boolean().nullish(),
  rank_fields: z.array(z.string().min(1)).min(1).max(100).nullish(),
  max_tokens_per_doc: z.int().min(1).nullish(),
});
export type RerankRequest = z.infer<typeof RerankRequest>;

/** What providers count who charge by the search, as a family of tools in a price: a query with up to a hundred documents. */
export const RERANK_SEARCH = 'rerank_search';
