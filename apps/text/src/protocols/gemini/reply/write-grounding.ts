import type { Citation, WebSearchPart } from '../../../neutral/parts.ts';
import type { JsonObject } from '../../../wire/json-object.ts';

interface Support {
  readonly start: number;
  readonly end: number;
  readonly chunk: number;
}

/** Searches and marks on the text as Google has them, whose offsets count bytes over all text of an answer. */
export class GroundingWriter {
  readonly #queries: string[] = [];
  readonly #chunks = new Map<string, { readonly index: number; readonly title: string }>();
  readonly #supports: Support[] = [];
  #text = '';
  /** Where the text that is open begins. */
  #begin = 0;

  beginText(): void {
    this.#begin = this.#text.length;
  }

  addText(text: string): void {
    this.#text += text;
  }

  search({ queries, sources }: WebSearchPart): void {
    this.#queries.push(...queries);
    for (const { url, title } of sources) this.#chunk(url, title ?? '');
  }

  cite(citation: Citation): void {
    if (citation.type !== 'url') return;
    const { url, title, start, end } = citation;
    this.#supports.push({
      start: this.#begin + start,
      end: this.#begin + end,
      chunk: this.#chunk(url, title),
    });
  }

  /** Null where nothing was searched or cited. */
  metadata(): JsonObject | null {
    if (this.#queries.length === 0 && this.#chunks.size === 0) return null;
    return {
      webSearchQueries: this.#queries,
      groundingChunks: [...this.#chunks].map(([uri, { title }]) => ({ web: { uri, title } })),
      groundingSupports: this.#supports.map(({ start, end, chunk }) => ({
        segment: {
          startIndex: Buffer.byteLength(this.#text.slice(0, start)),
          endIndex: Buffer.byteLength(this.#text.slice(0, end)),
          text: this.#text.slice(start, end),
        },
        groundingChunkIndices: [chunk],
      })),
    };
  }

  #chunk(url: string, title: string): number {
    const known = this.#chunks.get(url);
    if (known !== undefined) return known.index;
    this.#chunks.set(url, { index: this.#chunks.size, title });
    return this.#chunks.size - 1;
  }
}
