import type { ConverseCitation } from '@gateway/contracts/amazon/converse-wire';
import type { Citation } from '../../../neutral/parts.ts';

/** The members by which a place in a document is named, and what they count. */
const PLACES = [
  ['documentChar', 'character'],
  ['documentPage', 'page'],
  ['documentChunk', 'block'],
] as const;

/** A mark on the whole of a cited text; null where what it cites is neither a page of the web nor a document of the request. */
export function decodeCitation(
  { title, sourceContent, location }: ConverseCitation,
  textLength: number,
): Citation | null {
  const citedText = (sourceContent ?? []).map(({ text = '' }) => text).join('');
  const url = location?.web?.url;
  if (url)
    return {
      type: 'url',
      url,
      title: title ?? '',
      start: 0,
      end: textLength,
      ...(citedText && { citedText }),
    };
  for (const [member, unit] of PLACES) {
    const place = location?.[member];
    if (place === undefined) continue;
    const { documentIndex: document = 0, start = 0, end = start } = place;
    return { type: 'document', document, title: title ?? null, unit, start, end, citedText };
  }
  return null;
}
