import type { WebSearchPart } from '../../conversation/parts.ts';
import type { Emit, ItemStatus, ItemWriter, Place } from './item-writer.ts';

/** A web search that the upstream runs. What was searched for is known at its end. */
export class SearchWriter implements ItemWriter {
  readonly kind = 'search';
  readonly #place: Place;
  readonly #showSources: boolean;
  readonly #emit: Emit;
  #search: WebSearchPart | null = null;

  constructor(place: Place, showSources: boolean, emit: Emit) {
    this.#place = place;
    this.#showSources = showSources;
    this.#emit = emit;
  }

  begin(): void {
    this.#emit('response.web_search_call.in_progress', this.#place);
    this.#emit('response.web_search_call.searching', this.#place);
  }

  finish(search: WebSearchPart): void {
    this.#search = search;
    this.#emit('response.web_search_call.completed', this.#place);
  }

  close(): void {}

  snapshot(status: ItemStatus): object {
    const { queries = [], sources = [], status: outcome } = this.#search ?? {};
    const pages = sources.map(({ url }) => ({ type: 'url', url }));
    return {
      id: this.#place.item_id,
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
