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

/** The pages that a text rests on, one mark for each page of a segment. */
export function decodeSupports(
  { groundingChunks = [], groundingSupports = [] }: GeminiGrounding,
  text: string,
): readonly Citation[] {
  if (groundingSupports.length === 0) return [];
  const bytes = Buffer.from(text);
  const offset = (index: number): number => bytes.toString('utf8', 0, Math.min(index, bytes.length)).length;
  return groundingSupports.flatMap(({ segment, groundingChunkIndices = [] }) =>
    groundingChunkIndices.flatMap((index): Citation[] => {
      const web = groundingChunks[index]?.web;
      if (!web?.uri) return [];
      const start = offset(segment?.startIndex ?? 0);
      const end = Math.max(start, offset(segment?.endIndex ?? bytes.length));
      return [{ type: 'url', url: web.uri, title: web.title ?? '', start, end }];
    }),
  );
}
