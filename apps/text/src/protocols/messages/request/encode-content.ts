import { historyCallId } from '../../../neutral/encoding/call-ids.ts';
import { type Encoder, staysHome } from '../../../neutral/encoding/encoder.ts';
import { type BlockWriter, partBlocks } from '../../../neutral/encoding/part-blocks.ts';
import { documentText, searchResultText } from '../../../neutral/encoding/plain-text.ts';
import { refuseParameter } from '../../../neutral/losses.ts';
import type {
  DocumentPart,
  ImagePart,
  MediaSource,
  Part,
  ReasoningPart,
  ResultContent,
  ToolCallPart,
  ToolResultPart,
} from '../../../neutral/parts.ts';
import { acceptsPayload } from '../../../neutral/target.ts';
import type { Path } from '../../../wire/path.ts';
import { parseArguments } from '../../../wire/raw-json.ts';

export type Block = { readonly type: string; readonly [member: string]: unknown };

const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

const text = (value: string): Block => ({ type: 'text', text: value });

const WRITER: BlockWriter<Block, Encoder> = {
  text,
  call: encodeCall,
  result: encodeResult,
  reasoning: encodeReasoning,
  shown: encodeShown,
};

/** The Messages blocks of one part; none for what has nothing to show. */
export const encodePart = (part: Part, encoder: Encoder): Block[] => partBlocks(part, encoder, WRITER);

function encodeShown(part: Exclude<ResultContent, { type: 'text' }>, encoder: Encoder): Block[] {
  switch (part.type) {
    case 'image':
      return [encodeImage(part, encoder)];
    case 'document':
      return encodeDocument(part, encoder);
    case 'search-result':
      return staysHome(encoder)
        ? [{ type: 'search_result', source: part.source, title: part.title, content: part.texts.map(text) }]
        : [text(searchResultText(part))];
  }
}

function encodeSource(source: MediaSource, at: Path, encoder: Encoder): Block {
  switch (source.type) {
    case 'base64':
      return { type: 'base64', media_type: source.mediaType, data: source.data };
    case 'url':
      return { type: 'url', url: source.url };
    case 'file':
      return staysHome(encoder)
        ? { type: 'file', file_id: source.fileId }
        : refuseParameter(
            at,
            'A file id is known to the provider that made it only. Send the content instead.',
          );
  }
}

function encodeImage({ source, detail, at = [] }: ImagePart, encoder: Encoder): Block {
  if (source.type === 'base64' && !IMAGE_TYPES.has(source.mediaType)) {
    refuseParameter(
      at,
      `Images of type '${source.mediaType}' are not supported: use PNG, JPEG, GIF or WebP.`,
    );
  }
  if (detail !== undefined && detail !== 'auto')
    encoder.losses.drop([...at, 'detail'], 'images have no detail there');
  return { type: 'image', source: encodeSource(source, at, encoder) };
}

const READABLE = /^(text\/.*|application\/json)$/;

function encodeDocument(part: DocumentPart, encoder: Encoder): Block[] {
  const { source, title, context, at = [] } = part;
  const named = { ...(title && { title }), ...(context && { context }) };
  if (source.type === 'content') {
    if (source.parts.some((inner) => inner.type === 'text' && inner.text.trim() === '')) {
      return [text(documentText(part, '')), ...source.parts.flatMap((inner) => encodePart(inner, encoder))];
    }
    const content = source.parts.flatMap((inner) => encodePart(inner, encoder));
    return [{ type: 'document', source: { type: 'content', content }, ...named }];
  }
  if (source.type === 'base64' && READABLE.test(source.mediaType)) {
    const data = Buffer.from(source.data, 'base64').toString('utf8');
    return [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data }, ...named }];
  }
  if (source.type === 'base64' && source.mediaType !== 'application/pdf') {
    refuseParameter(at, `Files of type '${source.mediaType}' are not supported: use PDF or text.`);
  }
  const body =
    source.type === 'text'
      ? { type: 'text', media_type: 'text/plain', data: source.text }
      : encodeSource(source, at, encoder);
  const citations = part.citations && staysHome(encoder) ? { citations: { enabled: true } } : {};
  return [{ type: 'document', source: body, ...named, ...citations }];
}

function encodeCall(call: ToolCallPart, { names, target }: Encoder): Block {
  const input = call.custom
    ? { input: call.arguments }
    : (parseArguments(call.arguments) ?? { _raw: call.arguments });
  const id = historyCallId(call.id, target.quirks.toolCallIds);
  return { type: 'tool_use', id, name: names.upstreamName(call), input };
}

function encodeResult({ callId, content, isError }: ToolResultPart, encoder: Encoder): Block {
  const [only] = content;
  const blocks = content.flatMap((part) =>
    part.type === 'text' ? [text(part.text)] : encodeShown(part, encoder),
  );
  return {
    type: 'tool_result',
    tool_use_id: historyCallId(callId, encoder.target.quirks.toolCallIds),
    content: only === undefined ? '' : content.length === 1 && only.type === 'text' ? only.text : blocks,
    ...(isError && { is_error: true }),
  };
}

function encodeReasoning({ payload, texts, at = [] }: ReasoningPart, { target, losses }: Encoder): Block[] {
  if (payload !== undefined && acceptsPayload(target, payload)) {
    if (payload.kind === 'redacted') return [{ type: 'redacted_thinking', data: payload.data }];
    if (payload.kind === 'signature') {
      return [{ type: 'thinking', thinking: texts.join('\n\n'), signature: payload.data }];
    }
  }
  losses.drop(at, "reasoning that is not this upstream's own");
  return [];
}
