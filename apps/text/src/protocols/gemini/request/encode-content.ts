import { dropCitations } from '../../../neutral/encoding/document-citations.ts';
import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { documentText, searchResultText } from '../../../neutral/encoding/plain-text.ts';
import { refuseParameter } from '../../../neutral/losses.ts';
import type { AudioPart, DocumentPart, MediaSource, ResultContent } from '../../../neutral/parts.ts';
import type { Path } from '../../../wire/path.ts';

export type GeminiPart = { readonly [member: string]: unknown };

export const textPart = (text: string): GeminiPart => ({ text });

/** Whether a part is bytes or an address rather than text. */
export const isMedia = (part: GeminiPart): boolean => 'inlineData' in part || 'fileData' in part;

/** What a user or a tool shows, as parts. */
export function encodeShown(part: ResultContent | AudioPart, encoder: Encoder): GeminiPart[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [textPart(part.text)];
    case 'image': {
      const { source, detail, at = [] } = part;
      if (detail !== undefined && detail !== 'auto')
        encoder.losses.drop([...at, 'detail'], 'images have no detail there');
      return [mediaPart(source, 'image/jpeg', at)];
    }
    case 'document':
      return encodeDocument(part, encoder);
    case 'search-result':
      return [textPart(searchResultText(part))];
    case 'audio':
      return [{ inlineData: { mimeType: audioType(part.format), data: part.data } }];
  }
}

const audioType = (format: string): string => (format.includes('/') ? format : `audio/${format}`);

const READABLE = /^(text\/.*|application\/json)$/;

function encodeDocument(part: DocumentPart, encoder: Encoder): GeminiPart[] {
  const { source, at = [] } = part;
  dropCitations(part, encoder);
  if (source.type === 'text') return [textPart(documentText(part, source.text))];
  if (source.type === 'base64' && READABLE.test(source.mediaType))
    return [textPart(documentText(part, Buffer.from(source.data, 'base64').toString('utf8')))];
  const heading = documentText(part, '').trim();
  const shown =
    source.type === 'content'
      ? source.parts.flatMap((inner) => encodeShown(inner, encoder))
      : [mediaPart(source, 'application/pdf', at)];
  return heading === '' ? shown : [textPart(heading), ...shown];
}

/** Media types by the ending of an address: Gemini wants one beside it. */
const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  pdf: 'application/pdf',
  txt: 'text/plain',
  html: 'text/html',
  csv: 'text/csv',
  md: 'text/markdown',
};

const typeOf = (url: string): string | undefined =>
  TYPES[/\.(\w{2,4})(?:[?#]|$)/.exec(url)?.[1]?.toLowerCase() ?? ''];

function mediaPart(source: MediaSource, usual: string, at: Path): GeminiPart {
  switch (source.type) {
    case 'base64':
      return { inlineData: { mimeType: source.mediaType, data: source.data } };
    case 'url':
      return { fileData: { mimeType: typeOf(source.url) ?? usual, fileUri: source.url } };
    case 'file':
      return refuseParameter(
        at,
        'A file id is known to the provider that made it only. Send the content instead.',
      );
  }
}
