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
  unsaid.dropPresent(
    part,
    ['prompt_cache_breakpoint'],
    at,
    'prompt caches are steered differently elsewhere',
  );
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part.text, at };
    case 'refusal':
      return { type: 'refusal', text: part.refusal, at };
    case 'input_image': {
      const { image_url: address, file_id: fileId, detail } = part;
      const source = decodeSource({ fileId, address }, [...at, 'image_url']);
      return { type: 'image', source, at, ...(detail && { detail }) };
    }
    case 'input_file': {
      const { file_id: fileId, file_url, file_data, filename } = part;
      const source = decodeSource({ fileId, address: file_url ?? file_data }, at);
      return { type: 'document', source, at, ...(filename && { title: filename }) };
    }
    case 'input_audio':
      return { type: 'audio', data: part.input_audio.data, format: part.input_audio.format, at };
  }
}

interface Given {
  readonly fileId: string | null | undefined;
  readonly address: string | null | undefined;
}

/** @throws GatewayError where it is neither an address nor a data URL, such as bare base64 */
export function decodeSource({ fileId, address }: Given, at: Path): MediaSource {
  if (address) {
    const source = readAddress(address);
    if (source !== null) return source;
    refuseParameter(
      at,
      'Expected an http(s) URL or a data URL with a media type, such as data:image/png;base64,….',
    );
  }
  if (fileId) return { type: 'file', fileId };
  return refuseParameter(at, 'Neither content nor an address of it is given.');
}
