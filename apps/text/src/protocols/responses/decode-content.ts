import type { ResponsesInputPart } from '@gateway/contracts/openai/responses-wire';
import { type ContentPart, decodeSource } from '../../conversation/content.ts';
import type { Unsaid } from '../../conversation/request-reader.ts';
import type { Path } from '../../wire/path.ts';

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
