import { asList, asText, type JsonObject } from '../json-value.ts';
import { eventFrame } from '../replies/reply.ts';
import { splitWords } from '../tokens.ts';

export interface MessageStreamOptions {
  /** The message with empty content and no stop reason. */
  readonly started: JsonObject;
  readonly blocks: readonly JsonObject[];
  /** `delta` of `message_delta`. */
  readonly ending: JsonObject;
  readonly usage: JsonObject;
}

const PING = eventFrame('ping', { type: 'ping' });

const startOf = (block: JsonObject): JsonObject => {
  switch (block.type) {
    case 'text':
      return { ...block, text: '', citations: block.citations ? [] : null };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'tool_use':
    case 'server_tool_use':
      return { ...block, input: {} };
    case 'compaction':
      return { ...block, content: null, encrypted_content: null };
    default:
      return block;
  }
};

function* deltasOf(block: JsonObject): Generator<JsonObject> {
  if (block.type === 'text') {
    for (const text of splitWords(asText(block.text))) yield { type: 'text_delta', text };
    for (const citation of asList(block.citations)) yield { type: 'citations_delta', citation };
  } else if (block.type === 'thinking') {
    for (const thinking of splitWords(asText(block.thinking))) yield { type: 'thinking_delta', thinking };
    yield { type: 'signature_delta', signature: block.signature };
  } else if (block.type === 'tool_use') {
    yield { type: 'input_json_delta', partial_json: '' };
    for (const partial_json of splitWords(JSON.stringify(block.input)))
      yield { type: 'input_json_delta', partial_json };
  } else if (block.type === 'server_tool_use') {
    yield { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
  } else if (block.type === 'compaction') {
    const { content, encrypted_content } = block;
    yield { type: 'compaction_delta', content, encrypted_content };
  }
}

/** The event stream of one message. */
export function* messageFrames({ started, blocks, ending, usage }: MessageStreamOptions): Generator<string> {
  yield eventFrame('message_start', { type: 'message_start', message: started });
  for (const [index, block] of blocks.entries()) {
    yield eventFrame('content_block_start', {
      type: 'content_block_start',
      index,
      content_block: startOf(block),
    });
    if (index === 0) yield PING;
    for (const delta of deltasOf(block)) {
      yield eventFrame('content_block_delta', { type: 'content_block_delta', index, delta });
    }
    yield eventFrame('content_block_stop', { type: 'content_block_stop', index });
  }
  yield eventFrame('message_delta', { type: 'message_delta', delta: ending, usage });
  yield eventFrame('message_stop', { type: 'message_stop' });
}
