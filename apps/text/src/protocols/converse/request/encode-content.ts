import { historyCallId } from '../../../neutral/encoding/call-ids.ts';
import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { type BlockWriter, partBlocks } from '../../../neutral/encoding/part-blocks.ts';
import { searchResultText } from '../../../neutral/encoding/plain-text.ts';
import { refuseParameter } from '../../../neutral/losses.ts';
import type {
  ImagePart,
  Part,
  ReasoningPart,
  ResultContent,
  ToolCallPart,
  ToolResultPart,
} from '../../../neutral/parts.ts';
import { parseArguments } from '../../../wire/raw-json.ts';
import { takesPayload } from '../reply/payloads.ts';
import { type Block, type BlockEncoder, encodeDocument } from './documents.ts';

const IMAGE_FORMATS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
};

/** Stands where a tool has returned nothing: an empty result is refused. */
const NO_RESULT = '(no output)';

const WRITER: BlockWriter<Block, BlockEncoder> = {
  text: (text) => ({ text }),
  call: encodeCall,
  result: encodeResult,
  reasoning: encodeReasoning,
  shown: encodeShown,
};

/** The blocks of one part; none for what has nothing to show. */
export const encodePart = (part: Part, encoder: BlockEncoder): Block[] => partBlocks(part, encoder, WRITER);

function encodeShown(part: Exclude<ResultContent, { type: 'text' }>, encoder: BlockEncoder): Block[] {
  switch (part.type) {
    case 'image':
      return [encodeImage(part, encoder)];
    case 'document':
      return encodeDocument(part, encoder, (parts) => parts.flatMap((inner) => encodePart(inner, encoder)));
    case 'search-result':
      return [{ text: searchResultText(part) }];
  }
}

function encodeImage({ source: named, detail, at = [] }: ImagePart, { losses, media }: Encoder): Block {
  if (named.type === 'file')
    refuseParameter(at, 'A file id is known to the provider that made it only. Send the content instead.');
  const source = named.type === 'url' ? media.of('image', named.url, at) : named;
  const format = IMAGE_FORMATS[source.mediaType];
  if (format === undefined)
    refuseParameter(
      at,
      `Images of type '${source.mediaType}' are not supported: use PNG, JPEG, GIF or WebP.`,
    );
  if (detail !== undefined && detail !== 'auto')
    losses.drop([...at, 'detail'], 'images have no detail there');
  return { image: { format, source: { bytes: source.data } } };
}

function encodeCall(call: ToolCallPart, { names, target }: Encoder): Block {
  const input = call.custom
    ? { input: call.arguments }
    : (parseArguments(call.arguments) ?? { _raw: call.arguments });
  const toolUseId = historyCallId(call.id, target.quirks.toolCallIds);
  return { toolUse: { toolUseId, name: names.upstreamName(call), input } };
}

function encodeResult({ callId, content, isError }: ToolResultPart, encoder: BlockEncoder): Block {
  const blocks = content.flatMap((part) => encodePart(part, encoder));
  return {
    toolResult: {
      toolUseId: historyCallId(callId, encoder.target.quirks.toolCallIds),
      content: blocks.length > 0 ? blocks : [{ text: NO_RESULT }],
      ...(isError && { status: 'error' }),
    },
  };
}

/** Reasoning that is not signed is never sent back: models take it for text of their own. */
function encodeReasoning({ payload, texts, at = [] }: ReasoningPart, { target, losses }: Encoder): Block[] {
  if (payload !== undefined && takesPayload(target, payload)) {
    if (payload.kind === 'redacted') return [{ reasoningContent: { redactedContent: payload.data } }];
    return [{ reasoningContent: { reasoningText: { text: texts.join('\n\n'), signature: payload.data } } }];
  }
  losses.drop(at, "reasoning that is not this upstream's own");
  return [];
}
