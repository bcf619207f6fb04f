import { z } from 'zod';
import type { Citation } from '../../../neutral/parts.ts';

const Annotation = z.looseObject({
  type: z.literal('url_citation'),
  url_citation: z.looseObject({
    url: z.string(),
    title: z.string().nullish(),
    start_index: z.number().nullish(),
    end_index: z.number().nullish(),
  }),
});

export function decodeAnnotation(annotation: unknown): Citation | null {
  const result = Annotation.safeParse(annotation);
  if (!result.success) return null;
  const { url, title, start_index: start, end_index: end } = result.data.url_citation;
  return { type: 'url', url, title: title ?? '', start: start ?? 0, end: end ?? 0 };
}

/** Null for citations of files, which chat has not. `base` is where the cited text begins within the whole content. */
export const encodeAnnotation = (citation: Citation, base: number): object | null =>
  citation.type === 'url'
    ? {
        type: 'url_citation',
        url_citation: {
          start_index: base + citation.start,
          end_index: base + citation.end,
          url: citation.url,
          title: citation.title,
        },
      }
    : null;
