import type { MessagesCitation } from '@gateway/contracts/anthropic/messages-wire';
import type { Citation } from '../../../neutral/parts.ts';
import type { OpaqueTokens } from '../../../wire/tokens/opaque-token.ts';

const isHttp = (address: string): boolean => /^https?:\/\//i.test(address);

/** Claude cites a whole text block, so the mark spans all of it. Null where no other protocol has such a citation. */
export function decodeCitation(citation: MessagesCitation, textLength: number): Citation | null {
  const span = { start: 0, end: textLength };
  const cited = citation.cited_text ? { citedText: citation.cited_text } : {};
  const { file_id: fileId, document_title: filename, url, source, title } = citation;
  switch (citation.type) {
    case 'web_search_result_location':
      if (!url) return null;
      return {
        type: 'url',
        url,
        title: title ?? '',
        ...span,
        ...cited,
        ...(citation.encrypted_index && { encryptedIndex: citation.encrypted_index }),
      };
    case 'search_result_location':
      return source && isHttp(source)
        ? { type: 'url', url: source, title: title ?? '', ...span, ...cited }
        : null;
    default:
      return fileId ? { type: 'file', fileId, filename: filename ?? '', index: textLength } : null;
  }
}

/**
 * A citation of a web page or of a document as Claude writes it. Clients demand an `encrypted_index`; where Claude did not make one, it
 * is a token of ours. `text` is the part that the offsets count in.
 */
export function encodeCitation(citation: Citation, text: string, tokens: OpaqueTokens): object | null {
  if (citation.type === 'document') return encodePlace(citation);
  if (citation.type !== 'url') return null;
  return {
    type: 'web_search_result_location',
    url: citation.url,
    title: citation.title,
    encrypted_index: citation.encryptedIndex ?? sealReference(citation.url, tokens),
    cited_text: citation.citedText ?? text.slice(citation.start, citation.end),
  };
}

type Place = Extract<Citation, { type: 'document' }>;

/** A place in a document of the request. */
function encodePlace({ document, title, citedText, unit, start, end }: Place): object {
  const common = { cited_text: citedText, document_index: document, document_title: title, file_id: null };
  switch (unit) {
    case 'character':
      return { type: 'char_location', ...common, start_char_index: start, end_char_index: end };
    case 'page':
      return { type: 'page_location', ...common, start_page_number: start, end_page_number: end };
    case 'block':
      return { type: 'content_block_location', ...common, start_block_index: start, end_block_index: end };
  }
}

/** Fills the member in which clients demand something sealed, for a page that Claude did not find. */
export const sealReference = (url: string, tokens: OpaqueTokens): string =>
  tokens.seal({ vendor: 'open', kind: 'encrypted', data: url });
