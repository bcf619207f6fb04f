import type { ResponsesInputPart } from '@gateway/contracts/openai/responses-wire';
import { readAddress } from '../conversation/data-url.ts';
import { refuseParameter } from '../conversation/losses.ts';
import type { AudioPart, MediaSource, RefusalPart, ResultContent } from '../conversation/parts.ts';
import type { Path } from '../conversation/path.ts';
import type { Unsaid } from '../conversation/unsaid.ts';

export type ContentPart = ResultContent | AudioPart | RefusalPart;

/** Content of a message or of a tool's output: text, or parts. */
export function decodeContent(
  content: string | readonly ResponsesInputPart[],
  at: Path,
  unsaid: Unsaid,
): ContentPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, at }];
  return content.map((part, index) => decodePart(part, [...at, index], unsaid));
}

function decodePart(part: ResponsesInputPart, at: Path, unsaid: Unsaid): ContentPart {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part.text, at };
    case 'refusal':
      return { type: 'refusal', text: part.refusal, at };
    case 'input_image': {
      const { image_url, file_id, detail } = part;
      const source = decodeSource({ image_url, file_id }, at, unsaid);
      return { type: 'image', source, at, ...(detail && { detail }) };
    }
    case 'input_file': {
      const { file_url, file_data, file_id, filename } = part;
      const source = decodeSource({ file_url, file_data, file_id }, at, unsaid);
      return { type: 'document', source, at, ...(filename && { title: filename }) };
    }
    case 'input_audio':
      return { type: 'audio', data: part.input_audio.data, format: part.input_audio.format, at };
  }
}

const isResultContent = (part: ContentPart): part is ResultContent =>
  part.type !== 'audio' && part.type !== 'refusal';

/** What a tool returned. */
export function resultContent(parts: readonly ContentPart[], unsaid: Unsaid): ResultContent[] {
  for (const part of parts) {
    if (!isResultContent(part)) unsaid.refuse(part.at ?? [], 'A tool cannot return this kind of content.');
  }
  return parts.filter(isResultContent);
}

/**
 * Where content comes from: a member that holds an address or a data URL, or `file_id`. The first one that is given
 * counts.
 * @throws GatewayError where it is neither an address nor a data URL, such as bare base64
 */
export function decodeSource(
  members: { readonly [member: string]: string | null | undefined },
  at: Path,
  unsaid: Unsaid,
): MediaSource {
  const [first, ...others] = Object.entries(members).flatMap(([name, value]) =>
    value ? [{ name, value }] : [],
  );
  if (first === undefined) return refuseParameter(at, 'Neither content nor an address of it is given.');
  for (const { name } of others) unsaid.drop([...at, name], 'the content is given more than once');
  const { name, value } = first;
  if (name === 'file_id') return { type: 'file', fileId: value };
  return (
    readAddress(value) ??
    refuseParameter(
      [...at, name],
      'Expected an http(s) URL or a data URL with a media type, such as data:image/png;base64,….',
    )
  );
}
