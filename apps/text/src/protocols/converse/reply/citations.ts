import type { ConverseCitation } from '@gateway/contracts/amazon/converse-wire';
import type { Citation } from '../../../neutral/parts.ts';

/** A mark on the whole of a cited text; null where what it cites is no page. */
export function decodeCitation(
  { title, sourceContent, location }: ConverseCitation,
  textLength: number,
): Citation | null {
  const url = location?.web?.url;
  if (url === undefined || url === '') return null;
  const citedText = (sourceContent ?? []).map(({ text = '' }) => text).join('');
  return { type: 'url', url, title: title ?? '', start: 0, end: textLength, ...(citedText && { citedText }) };
}
