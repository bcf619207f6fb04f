import { expect, test } from 'vitest';
import { recordedMessage } from '../../protocols/messages/reply/message-recorder.ts';
import { replyFrames } from '../../protocols/messages/stream/reply-frames.ts';
import { messageIn } from './store-turn.ts';

const message = (content: readonly object[], rest: object = {}) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
  ...rest,
});

const CITATION = { type: 'web_search_result_location', url: 'https://example.org', encrypted_index: 'e' };
const BLOCKS = [
  { type: 'thinking', thinking: 'hm', signature: 's' },
  { type: 'redacted_thinking', data: 'd' },
  { type: 'text', text: 'Hi', citations: [CITATION] },
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
  { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ type: 'web_search_result' }] },
  { type: 'tool_use', id: 'toolu_1', name: 'n', input: {}, caller: { type: 'direct' } },
  { type: 'kind_of_later', some: { thing: [1] } },
];

test('a streamed message has the blocks of the whole one', () => {
  expect(messageIn(replyFrames(message(BLOCKS)) ?? [])).toEqual({ id: 'msg_1', content: BLOCKS });
});

test('long numbers in arguments stay as they were', () => {
  const frames = replyFrames(message([{ type: 'tool_use', id: 't', name: 'n', input: {} }])) ?? [];
  const sent = frames.map((frame) =>
    frame.replace('"partial_json":"{}"', String.raw`"partial_json":"{\"id\":12345678901234567890}"`),
  );
  expect(JSON.stringify(messageIn(sent)?.content)).toContain('"input":{"id":12345678901234567890}');
});

test('a compaction has the members of its last delta', () => {
  const event = (type: string, rest: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
  const frames = [
    event('message_start', { message: message([]) }),
    event('content_block_start', { index: 0, content_block: { type: 'compaction', content: null } }),
    event('content_block_delta', {
      index: 0,
      delta: { type: 'compaction_delta', content: 'so far', encrypted_content: 'x' },
    }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'compaction' }, usage: { output_tokens: 1 } }),
    event('message_stop', {}),
  ];
  expect(messageIn(frames)?.content).toEqual([
    { type: 'compaction', content: 'so far', encrypted_content: 'x' },
  ]);
});

test.for([
  ['a refusal', { stop_reason: 'refusal' }],
  [
    'the answer of another model',
    { usage: { iterations: [{ type: 'message' }, { type: 'fallback_message' }] } },
  ],
] as const)('%s is nothing to go on from', ([, rest]) => {
  expect(recordedMessage(message(BLOCKS, rest))).toBeNull();
  expect(messageIn(replyFrames(message(BLOCKS, rest)) ?? [])).toBeNull();
});

test('a stream without its end is no message', () => {
  const frames = replyFrames(message(BLOCKS)) ?? [];
  expect(messageIn(frames.slice(0, -1))).toBeNull();
});
