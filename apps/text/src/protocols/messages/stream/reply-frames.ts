import { namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import { isObject, type JsonObject, textAt } from '../../../wire/json-object.ts';

/** How a block begins, and the deltas that make it what it is. Blocks of other kinds come whole. */
interface BlockEvents {
  readonly begun: JsonObject;
  readonly deltas: readonly JsonObject[];
}
const BLOCKS: ReadonlyMap<unknown, (block: JsonObject) => BlockEvents> = new Map([
  [
    'text',
    (block) => ({
      begun: { ...block, text: '', ...(Array.isArray(block.citations) && { citations: [] }) },
      deltas: [
        ...textDelta('text_delta', 'text', block),
        ...(Array.isArray(block.citations) ? block.citations : []).map((citation) => ({
          type: 'citations_delta',
          citation,
        })),
      ],
    }),
  ],
  [
    'thinking',
    (block) => ({
      begun: { ...block, thinking: '', signature: '' },
      deltas: [
        ...textDelta('thinking_delta', 'thinking', block),
        ...textDelta('signature_delta', 'signature', block),
      ],
    }),
  ],
  ['tool_use', toolUse],
  ['server_tool_use', toolUse],
]);

/** A finished message as a stream with all its members; null for anything else. */
export function replyFrames(message: JsonObject): readonly string[] | null {
  const { content, stop_reason, stop_sequence, stop_details, usage } = message;
  if (message.type !== 'message' || !Array.isArray(content)) return null;
  const begun = {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(stop_details !== undefined && { stop_details: null }),
    ...(isObject(usage) && { usage: { ...usage, output_tokens: 0 } }),
  };
  const ending = { stop_reason, stop_sequence, ...(stop_details !== undefined && { stop_details }) };
  return [
    { type: 'message_start', message: begun },
    ...content.flatMap((block, index) => (isObject(block) ? blockEvents(block, index) : [])),
    { type: 'message_delta', delta: ending, ...(isObject(usage) && { usage }) },
    { type: 'message_stop' },
  ].map(namedFrame);
}

function blockEvents(block: JsonObject, index: number) {
  const { begun, deltas } = BLOCKS.get(block.type)?.(block) ?? { begun: block, deltas: [] };
  return [
    { type: 'content_block_start', index, content_block: begun },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

function textDelta(type: string, member: string, block: JsonObject): JsonObject[] {
  const text = textAt(block, member) ?? '';
  return text === '' ? [] : [{ type, [member]: text }];
}

function toolUse(block: JsonObject): BlockEvents {
  const delta = { type: 'input_json_delta', partial_json: JSON.stringify(block.input ?? {}) };
  return { begun: { ...block, input: {} }, deltas: [delta] };
}
