import { z } from 'zod';
import type { Citation } from '../../../neutral/parts.ts';

const UrlCitation = z.looseObject({
  type: z.literal('url_citation'),
  url: z.string(),
  title: z.string().nullish(),
  start_index: z.number(),
  end_index: z.number(),
});
const FileCitation = z.looseObject({
  type: z.literal('file_citation'),
  file_id: z.string(),
  filename: z.string().nullish(),
  index: z.number(),
});

/** Null for kinds that only this protocol has. */
export function decodeAnnotation(annotation: unknown): Citation | null {
  const url = UrlCitation.safeParse(annotation);
  if (url.success) {
    const { url: address, title, start_index: start, end_index: end } = url.data;
    return { type: 'url', url: address, title: title ?? '', start, end };
  }
  const file = FileCitation.safeParse(annotation);
  if (!file.success) return null;
  const { file_id: fileId, filename, index } = file.data;
  return { type: 'file', fileId, filename: filename ?? '', index };
}

/**
 * Null for places in documents of the request, which have no id here. `base` is where the cited text begins within the part that
 * it is shown in.
 */
export function encodeAnnotation(citation: Citation, base: number): object | null {
  switch (citation.type) {
    case 'url': {
      const { start, end, url, title } = citation;
      return { type: 'url_citation', start_index: base + start, end_index: base + end, url, title };
    }
    case 'file': {
      const { index, fileId, filename } = citation;
      return { type: 'file_citation', index: base + index, file_id: fileId, filename };
    }
    case 'document':
      return null;
  }
}
