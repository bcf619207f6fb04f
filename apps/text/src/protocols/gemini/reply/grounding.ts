import type { GeminiGrounding } from '@gateway/contracts/google/gemini-wire';
import type { Citation, WebSearchPart } from '../../../neutral/parts.ts';

/** The searches behind an answer; null where there were none. */
export function decodeSearch({ webSearchQueries, groundingChunks }: GeminiGrounding): WebSearchPart | null {
  if (!webSearchQueries?.length) return null;
  const sources = (groundingChunks ?? []).flatMap(({ web }) =>
    web?.uri ? [{ url: web.uri, ...(web.title && { title: web.title }) }] : [],
  );
  return { type: 'web-search', status: 'completed', queries: webSearchQueries, sources };
}

/** Segments of an answer's text with the pages that they rest on. */
export class Supports {
  readonly #chunks: NonNullable<GeminiGrounding['groundingChunks']>;
  /** In the order of their beginnings. */
  readonly #segments: readonly { readonly start: number; readonly end: number; readonly chunks: number[] }[];

  constructor({ groundingChunks = [], groundingSupports = [] }: GeminiGrounding) {
    this.#chunks = groundingChunks;
    this.#segments = groundingSupports
      .map(({ segment, groundingChunkIndices = [] }) => ({
        start: segment?.startIndex ?? 0,
        end: segment?.endIndex ?? Infinity,
        chunks: groundingChunkIndices,
      }))
      .toSorted((one, other) => one.start - other.start);
  }

  /**
   * One mark for each page of a segment that begins in a text.
   *
   * @param before how many bytes of text the answer has before it
   */
  in(text: string, before: number): readonly Citation[] {
    const after = before + Buffer.byteLength(text);
    const first = this.#firstFrom(before);
    const next = this.#firstFrom(after);
    if (first === next) return [];
    const units = unitsByByte(text);
    return this.#segments.slice(first, next).flatMap((segment) => {
      const start = units[segment.start - before] ?? 0;
      const end = Math.max(start, units[Math.min(segment.end, after) - before] ?? 0);
      return segment.chunks.flatMap((index): Citation[] => {
        const web = this.#chunks[index]?.web;
        return web?.uri ? [{ type: 'url', url: web.uri, title: web.title ?? '', start, end }] : [];
      });
    });
  }

  /** The index of the first segment that begins at a byte or after it. */
  #firstFrom(byte: number): number {
    let [low, high] = [0, this.#segments.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#segments[middle]?.start ?? 0) < byte) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** How many UTF-16 units of a text stand before each byte of its UTF-8 form, and before its end. */
function unitsByByte(text: string): Uint32Array {
  const units = new Uint32Array(Buffer.byteLength(text) + 1);
  let [byte, unit] = [0, 0];
  for (const character of text) {
    const next = byte + Buffer.byteLength(character);
    units.fill(unit, byte, next);
    byte = next;
    unit += character.length;
  }
  units[byte] = unit;
  return units;
}
