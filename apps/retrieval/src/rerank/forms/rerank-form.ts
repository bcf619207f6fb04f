import type { RerankRequest } from '@gateway/contracts/rerank';

/** What a provider is to sort. */
export interface RerankOrder {
  readonly request: RerankRequest;
  /** The documents as texts. */
  readonly documents: readonly string[];
  /** The model's name at the channel. */
  readonly model: string;
}

/** How well a document answers the query. */
export interface Ranked {
  /** Its place in the request. */
  readonly index: number;
  readonly score: number;
}

/** What a reply reports to have used; null where it says nothing. */
export interface RerankUsage {
  readonly tokens: number | null;
  readonly searches: number | null;
}

/** How a provider's requests and replies are written. */
export interface RerankForm {
  /** The caller's members that it has besides query, documents and `top_n`. */
  readonly takes: readonly string[];
  write(order: RerankOrder): object;
  /** The documents in any order; null where the reply has none, or something else among them. */
  rankedIn(reply: unknown): readonly Ranked[] | null;
  usageIn(reply: unknown): RerankUsage;
}
