import { expect, test } from 'vitest';
import { HeldStart } from './held-start.ts';

type Name = 'responses' | 'messages' | 'chat' | 'converse';

const named = (type: string, more: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const below = (name: string, more: object): string =>
  `event: ${name}\ndata: ${JSON.stringify({ [name]: more })}\n\n`;
const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;

const STARTS: Record<Name, readonly string[]> = {
  responses: [
    named('response.created', { response: { id: 'resp_1', tools: [{ type: 'function' }] } }),
    named('response.queued', { response: { id: 'resp_1' } }),
    named('response.in_progress', { response: { id: 'resp_1' } }),
    named('keepalive'),
    'data: {"type":"response.created","response":{}}\r\n\r\n',
    named('response.output_item.added', {
      item: { id: 'msg_1', type: 'message', status: 'in_progress', role: 'assistant', content: [] },
    }),
    named('response.content_part.added', { part: { type: 'output_text', text: '', annotations: [] } }),
    named('response.content_part.added', { part: { type: 'refusal', refusal: '' } }),
    named('response.output_text.delta', { delta: '', logprobs: [], obfuscation: 'Xy' }),
    named('response.refusal.delta', { delta: '' }),
    named('response.output_text.done', { text: '', logprobs: [] }),
    named('response.refusal.done', { refusal: '' }),
    named('response.content_part.done', { part: { type: 'output_text', text: '', annotations: [] } }),
    named('response.output_item.done', {
      item: { type: 'message', status: 'completed', content: [{ type: 'output_text', text: '' }] },
    }),
  ],
  messages: [
    named('message_start', { message: { id: 'msg_1', content: [] } }),
    named('ping'),
    'data: {"type": "ping"}\n\n',
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '', citations: null } }),
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: '' } }),
    named('content_block_stop', { index: 0 }),
  ],
  chat: [
    chunk({ role: 'assistant', content: '' }),
    chunk({ role: 'assistant', content: null, refusal: null, tool_calls: [] }),
    chunk({}),
    chunk({ reasoning_content: '' }),
    chunk({ content: '' }, { finish_reason: '' }),
    chunk({ content: '' }, { finish_reason: 'null' }),
    'data: {"id":"","choices":null}\n\n',
    'data: {"id":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}\n\n',
    'data: {"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}],"usage":{"total_tokens":5}}\n\n',
  ],
  converse: [
    below('messageStart', { role: 'assistant', p: 'abc' }),
    below('contentBlockDelta', { contentBlockIndex: 0, delta: { text: '' }, p: 'a' }),
    below('contentBlockStop', { contentBlockIndex: 0 }),
  ],
};
/** What every protocol may begin with. */
const SILENT = [
  ': a comment\n\n',
  '\n\n',
  'retry: 5\n\n',
  'data:\n\n',
  'data: null\n\n',
  'event: heartbeat\ndata: alive\n\n',
];

const OUTPUTS: Record<Name, readonly string[]> = {
  responses: [
    named('response.output_item.added', { item: { type: 'reasoning', summary: [] } }),
    named('response.output_item.added', { item: { type: 'function_call', name: 'run', arguments: '' } }),
    named('response.output_item.added', {
      item: { type: 'message', content: [{ type: 'output_text', text: 'Hi' }] },
    }),
    named('response.content_part.added', { part: { type: 'output_text', text: 'Hi' } }),
    named('response.content_part.added', { part: { type: 'reasoning_text', text: '' } }),
    named('response.content_part.added', { part: { type: 'refusal', refusal: 'No' } }),
    named('response.output_text.delta', { delta: 'Hi' }),
    named('response.completed', { response: {} }),
    named('response.incomplete', { response: {} }),
    named('brand_new'),
  ],
  messages: [
    named('content_block_start', { content_block: { type: 'text', text: 'Hi' } }),
    named('content_block_start', { content_block: { type: 'thinking', thinking: '', signature: '' } }),
    named('content_block_start', { content_block: { type: 'redacted_thinking', data: 'xyz' } }),
    named('content_block_start', {
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'run', input: {} },
    }),
    named('content_block_delta', { delta: { type: 'text_delta', text: 'Hi' } }),
    named('content_block_delta', { delta: { type: 'thinking_delta', thinking: '' } }),
    named('content_block_delta', { delta: { type: 'citations_delta', citation: { cited_text: 'x' } } }),
    named('message_delta', { delta: { stop_reason: 'end_turn' } }),
    named('message_stop'),
    named('brand_new'),
  ],
  chat: [
    chunk({ content: 'Hi' }),
    chunk({ content: [{ type: 'thinking' }] }),
    chunk({ reasoning: 'Hm' }),
    chunk({ tool_calls: [{ index: 0, id: 'call_1' }] }),
    chunk({}, { finish_reason: 'stop' }),
    'data: {"brand":"new"}\n\n',
  ],
  converse: [
    below('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hi' } }),
    below('contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { text: '' } } }),
    below('contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId: 'a', name: 'run' } } }),
    below('messageStop', { stopReason: 'end_turn' }),
    below('metadata', { usage: {} }),
    below('brandNew', {}),
  ],
};

const cases = (table: Record<Name, readonly string[]>) =>
  (['responses', 'messages', 'chat', 'converse'] as const).flatMap((protocol) =>
    table[protocol].map((frame) => [protocol, frame] as const),
  );

/** Pushes piece by piece, until a verdict comes. */
const read = (protocol: Name, pieces: readonly string[]) => {
  const held = new HeldStart(protocol);
  for (const piece of pieces) {
    const verdict = held.push(Buffer.from(piece));
    if (verdict !== 'wait') return verdict;
  }
  return 'wait';
};

test.for(cases(STARTS))('%s: %s shows nothing of the answer', ([protocol, frame]) => {
  expect(read(protocol, [...SILENT, frame, ...STARTS[protocol]])).toBe('wait');
  expect(read(protocol, [...frame])).toBe('wait');
});

test.for(cases(OUTPUTS))('%s: %s is output, however it is cut', ([protocol, frame]) => {
  const start = STARTS[protocol].join('');
  expect(read(protocol, [start + frame])).toBe('accept');
  expect(read(protocol, [start, ...frame])).toBe('accept');
  expect(read(protocol, [start.replaceAll(/\r?\n/g, '\r\n'), frame.replaceAll('\n', '\r\n')])).toBe('accept');
});

test.for([
  ['responses', named('error', { code: 'rate_limit_exceeded', message: 'x' }), 429],
  [
    'responses',
    named('response.failed', { response: { error: { code: 'server_error', message: 'x' } } }),
    502,
  ],
  ['messages', named('error', { error: { type: 'overloaded_error', message: 'x' } }), 529],
  ['chat', 'data: {"error":{"message":"Über","type":"server_error","code":503}}\n\n', 503],
  ['chat', 'event: error\ndata: {"message":"x"}\n\n', 502],
  ['chat', 'data: {"object":"error","message":"x","type":"BadRequestError","code":400}\n\n', 400],
  ['chat', 'data: {"choices":[{"index":0,"error":{"code":429,"message":"x"},"delta":{}}]}\n\n', 429],
  ['chat', chunk({}, { finish_reason: 'error' }), 502],
  ['chat', chunk({}, { finish_reason: 'insufficient_system_resource' }), 502],
  ['chat', 'data: {"base_resp":{"status_code":1002,"status_msg":"rate limit"}}\n\n', 429],
  ['chat', 'data: {"error":"model is loading"}\n\n', 502],
  ['chat', 'data: {"detail":"Not Found"}\n\n', 502],
  ['chat', 'data: {"code":"1302","message":"x"}\n\n', 429],
  ['responses', named('response.completed', { response: { status: 'failed', error: null } }), 502],
  ['converse', named('error', { error: { code: 'ThrottlingException', message: 'x' } }), 429],
  ['converse', named('error', { error: { code: '503', type: 'ModelStreamErrorException' } }), 503],
  ['converse', below('messageStop', { stopReason: 'malformed_tool_use' }), 502],
] as const)('%s: a failure after start events counts as one before them: %s', ([protocol, frame, status]) => {
  const { data } = /data: (?<data>.*)/.exec(frame)?.groups ?? {};
  expect(read(protocol, [...STARTS[protocol], frame])).toEqual({ status, body: data });
});

test.for([
  ['responses', 'event: response.created\ndata: {"type":"response.cr\n\n'],
  ['messages', 'data: garbage\n\n'],
  ['messages', 'event: content_block_delta\ndata: {not json}\n\n'],
  ['chat', 'data: {"choices":[{"in\n\n'],
  ['chat', 'data: [1]\n\n'],
] as const)('%s: an event that cannot be read is no output: %s', ([protocol, frame]) => {
  expect(read(protocol, [...STARTS[protocol], frame])).toEqual({ broken: expect.any(String) });
});

test.for(['responses', 'messages', 'chat', 'converse'] as const)(
  '%s: an end before any output is no answer',
  (protocol) => {
    const without = { broken: 'the stream ended before its first output' };
    for (const before of [[], SILENT, STARTS[protocol]]) {
      const held = new HeldStart(protocol);
      for (const piece of before) held.push(Buffer.from(piece));
      expect(held.end()).toEqual(without);
      expect(read(protocol, [...before, 'data: [DONE]\n\n'])).toEqual(without);
    }
  },
);

test('an end without the last empty line is read as clients read it', () => {
  const held = new HeldStart('chat');
  held.push(Buffer.from(chunk({ content: 'Hi' }).trimEnd()));
  expect(held.end()).toBe('accept');
});

test('output that is too large to be parsed on the way is taken as it is', () => {
  const held = new HeldStart('responses');
  const frame = `event: response.image_generation_call.partial_image\ndata: {"b64":"${'x'.repeat(100_000)}"}\n\n`;
  expect(held.push(Buffer.from(frame))).toBe('accept');
});
