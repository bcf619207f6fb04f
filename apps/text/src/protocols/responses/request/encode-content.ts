import { toDataUrl } from '../../../neutral/data-url.ts';
import { dropCitations } from '../../../neutral/encoding/document-citations.ts';
import { type Encoder, staysHome } from '../../../neutral/encoding/encoder.ts';
import { documentText, errorText, fileName, searchResultText } from '../../../neutral/encoding/plain-text.ts';
import { refuseParameter } from '../../../neutral/losses.ts';
import type {
  AudioPart,
  DocumentPart,
  ImagePart,
  MediaSource,
  ResultContent,
  ToolResultPart,
} from '../../../neutral/parts.ts';
import type { Path } from '../../../wire/path.ts';

type InputPart = { readonly type: string; readonly [member: string]: unknown };

const inputText = (text: string): InputPart => ({ type: 'input_text', text });

/** What a user shows, as input parts. */
export function encodeShown(part: ResultContent | AudioPart, encoder: Encoder): InputPart[] {
  switch (part.type) {
    case 'text':
      return [inputText(part.text)];
    case 'image':
      return [encodeImage(part, encoder)];
    case 'document':
      return encodeDocument(part, encoder);
    case 'search-result':
      return [inputText(searchResultText(part))];
    case 'audio':
      return [{ type: 'input_audio', input_audio: { data: part.data, format: part.format } }];
  }
}

function ownFile(source: MediaSource & { type: 'file' }, at: Path, encoder: Encoder): { file_id: string } {
  if (staysHome(encoder)) return { file_id: source.fileId };
  return refuseParameter(
    at,
    'A file id is known to the provider that made it only. Send the content instead.',
  );
}

/** `detail` is always written: the published schema demands it, and servers that check against it refuse an image without. */
function encodeImage({ source, detail = 'auto', at = [] }: ImagePart, encoder: Encoder): InputPart {
  if (source.type === 'file') return { type: 'input_image', ...ownFile(source, at, encoder), detail };
  const address = source.type === 'url' ? source.url : toDataUrl(source.mediaType, source.data);
  return { type: 'input_image', image_url: address, detail };
}

function encodeDocument(part: DocumentPart, encoder: Encoder): InputPart[] {
  const { source, title, context, at = [] } = part;
  const heading = context === undefined ? [] : [inputText(context)];
  dropCitations(part, encoder);
  switch (source.type) {
    case 'text':
      return [inputText(documentText(part, source.text))];
    case 'content': {
      const inner = source.parts.flatMap((shown) => encodeShown(shown, encoder));
      const named = documentText(part, '').trim();
      return named === '' ? inner : [inputText(named), ...inner];
    }
    case 'base64': {
      const { mediaType, data } = source;
      const file = { filename: fileName(title, mediaType), file_data: toDataUrl(mediaType, data) };
      return [...heading, { type: 'input_file', ...file }];
    }
    case 'url':
      return [...heading, { type: 'input_file', file_url: source.url }];
    case 'file':
      return [...heading, { type: 'input_file', ...ownFile(source, at, encoder) }];
  }
}

/** A tool's result: text where it is nothing else, parts otherwise. Failure has no member of its own. */
export function encodeOutput({ content, isError }: ToolResultPart, encoder: Encoder): string | InputPart[] {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const text = texts.join('\n');
  if (texts.length === content.length) return isError ? errorText(text) : text;
  const parts = content.flatMap((part) => encodeShown(part, encoder));
  return isError && errorText(text) !== text ? [inputText(errorText('').trim()), ...parts] : parts;
}
