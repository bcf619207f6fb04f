import type { WebSearchPart } from '../../../neutral/parts.ts';
import type { Emit, ItemStatus, ItemWriter, Position } from './item-writer.ts';

/** A web search that the upstream runs. What was searched for is known at its end. */
export class SearchWriter implements ItemWriter {
  readonly kind = 'search';
  readonly #position: Position;
  readonly #showSources: boolean;
  readonly #emit: Emit;
  #search: WebSearchPart | null = null;

  constructor(position: Position, showSources: boolean, emit: Emit) {
    this.#position = position;
    this.#showSources = showSources;
    this.#emit = emit;
  }

  begin(): void {
    this.#emit('response.web_search_call.in_progress', this.#position);
    this.#emit('response.web_search_call.searching', this.#position);
  }

  finish(search: WebSearchPart): void {
    this.#search = search;
    this.#emit('response.web_search_call.completed', this.#position);
  }

  close(): void {}

  snapshot(status: ItemStatus): object {
    const { queries = [], sources = [], status: outcome } = this.#search ?? {};
    const pages = sources.map(({ url }) => ({ type: 'url', url }));
    return {
      id: this.#position.item_id,
      type: 'web_search_call',
      status: status === 'completed' && outcome === 'failed' ? 'failed' : status,
      action: {
        type: 'search',
        query: queries[0] ?? '',
        queries,
        ...(this.#showSources && this.#search && { sources: pages }),
      },
    };
  }
}
