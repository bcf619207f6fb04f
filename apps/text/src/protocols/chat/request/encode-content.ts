import { toDataUrl } from '../../../neutral/data-url.ts';
import { dropCitations } from '../../../neutral/encoding/document-citations.ts';
import { type Encoder, staysHome } from '../../../neutral/encoding/encoder.ts';
import { documentText, fileName, searchResultText } from '../../../neutral/encoding/plain-text.ts';
import { refuseParameter } from '../../../neutral/losses.ts';
import type { AudioPart, DocumentPart, ImagePart, ResultContent } from '../../../neutral/parts.ts';

export type ChatPart = { readonly type: string; readonly [member: string]: unknown };

export const textPart = (text: string): ChatPart => ({ type: 'text', text });

/** What a user shows, as content parts. */
export function encodeShown(part: ResultContent | AudioPart, encoder: Encoder): ChatPart[] {
  switch (part.type) {
    case 'text':
      return [textPart(part.text)];
    case 'image':
      return [encodeImage(part)];
    case 'document':
      return encodeDocument(part, encoder);
    case 'search-result':
      return [textPart(searchResultText(part))];
    case 'audio':
      return [{ type: 'input_audio', input_audio: { data: part.data, format: part.format } }];
  }
}

function encodeImage({ source, detail, at = [] }: ImagePart): ChatPart {
  if (source.type === 'file') {
    refuseParameter(at, 'A file id is known to the provider that made it only. Send the content instead.');
  }
  const url = source.type === 'url' ? source.url : toDataUrl(source.mediaType, source.data);
  return { type: 'image_url', image_url: { url, ...(detail && { detail }) } };
}

const READABLE = /^(text\/.*|application\/json)$/;

function encodeDocument(part: DocumentPart, encoder: Encoder): ChatPart[] {
  const { title, context, at = [] } = part;
  const source =
    part.source.type === 'url'
      ? ({ type: 'base64', ...encoder.media.of('document', part.source.url, at) } as const)
      : part.source;
  const heading = context === undefined ? [] : [textPart(context)];
  dropCitations(part, encoder);
  switch (source.type) {
    case 'text':
      return [textPart(documentText(part, source.text))];
    case 'content': {
      const named = documentText(part, '').trim();
      const inner = source.parts.flatMap((shown) => encodeShown(shown, encoder));
      return named === '' ? inner : [textPart(named), ...inner];
    }
    case 'base64': {
      const { mediaType, data } = source;
      if (READABLE.test(mediaType)) {
        return [textPart(documentText(part, Buffer.from(data, 'base64').toString('utf8')))];
      }
      const file = { filename: fileName(title, mediaType), file_data: toDataUrl(mediaType, data) };
      return [...heading, { type: 'file', file }];
    }
    case 'file':
      if (staysHome(encoder)) return [{ type: 'file', file: { file_id: source.fileId } }];
      return refuseParameter(
        at,
        'A file id is known to the provider that made it only. Send the content instead.',
      );
  }
}
