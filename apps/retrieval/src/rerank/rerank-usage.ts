import type { RerankRequest } from '@gateway/contracts/rerank';
import { RERANK_SEARCH } from '@gateway/contracts/rerank';
import { type Consumption, NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { BYTES_PER_TOKEN, LEAST_BYTES_PER_TOKEN } from '@gateway/model-calls/call/token-estimates';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { RerankUsage } from './forms/rerank-form.ts';

/** Documents of one search; a longer one counts as several, each of so many tokens. */
const DOCUMENTS_PER_SEARCH = 100;
const TOKENS_PER_DOCUMENT = 500;

/** A search is counted only where it has a price. */
const paysSearches = ({ price }: Pick<ResolvedModel, 'price'>): boolean =>
  price?.perThousandToolCalls?.[RERANK_SEARCH] !== undefined;

function consumption(model: ResolvedModel, inputTokens: number, searches: number): Consumption {
  return {
    ...NOTHING_CONSUMED,
    inputTokens,
    ...(paysSearches(model) && searches > 0 && { toolCalls: { [RERANK_SEARCH]: searches } }),
  };
}

interface Texts extends Pick<RerankRequest, 'query'> {
  readonly documents: readonly string[];
}

/** Every document is read with the query. */
function estimated(model: ResolvedModel, { query, documents }: Texts, bytesPerToken: number): Consumption {
  const ofQuery = Math.ceil(Buffer.byteLength(query) / bytesPerToken);
  let tokens = 0;
  let pieces = 0;
  for (const text of documents) {
    const own = ofQuery + Math.ceil(Buffer.byteLength(text) / bytesPerToken);
    tokens += own;
    pieces += Math.max(1, Math.ceil(own / TOKENS_PER_DOCUMENT));
  }
  return consumption(model, tokens, Math.ceil(pieces / DOCUMENTS_PER_SEARCH));
}

export const largestRerank = (model: ResolvedModel, texts: Texts): Consumption =>
  estimated(model, texts, LEAST_BYTES_PER_TOKEN);
export const usualRerank = (model: ResolvedModel, texts: Texts): Consumption =>
  estimated(model, texts, BYTES_PER_TOKEN);

/** What a reply reports; null where what the model's price is for is not in it. */
export function reportedRerank(model: ResolvedModel, { tokens, searches }: RerankUsage): Consumption | null {
  if (paysSearches(model) ? searches === null : tokens === null) return null;
  return consumption(model, tokens ?? 0, searches ?? 0);
}
