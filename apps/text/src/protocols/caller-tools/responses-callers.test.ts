import { expect, test } from 'vitest';
import { translateReply } from '../../conversion/translate-reply.ts';
import { translateRequest } from '../../conversion/translate-request.ts';
import { StreamTranslator } from '../../conversion/translate-stream.ts';
import { testReplyContext, testTarget, testTokens } from '../../testing/test-context.ts';

const translated = (target: 'chat' | 'messages', tool: object, stream = false) =>
  translateRequest({
    caller: 'responses',
    body: { model: 'm', input: 'Hi', tools: [tool], stream },
    target: testTarget(target),
    tokens: testTokens,
  });

/** What a Messages upstream answers with one call, whole. */
const messagesReply = (name: string, input: object, stop_reason = 'tool_use') => ({
  content: [{ type: 'tool_use', id: 'call_1', name, input }],
  stop_reason,
  usage: { input_tokens: 1, output_tokens: 1 },
});

/** What a Chat upstream streams with one call whose arguments come in two pieces. */
const chatStream = (name: string, text: string, finish_reason = 'tool_calls') => {
  const call = (id: string | undefined, piece: string) => ({
    delta: { tool_calls: [{ index: 0, id, function: { name: id && name, arguments: piece } }] },
  });
  const choices = [
    call('call_1', text.slice(0, 5)),
    call(undefined, text.slice(5)),
    { delta: {}, finish_reason },
  ];
  const frames = choices.map(
    (choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`,
  );
  return Buffer.from(`${frames.join('')}data: [DONE]\n\n`);
};

const eventsOf = (frames: string) =>
  [...frames.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data));

const CASES = [
  {
    tool: { type: 'apply_patch' },
    name: 'apply_patch',
    input: { type: 'update_file', path: 'a', diff: '@@\n-a\n+b' },
    item: { type: 'apply_patch_call', operation: { type: 'update_file', path: 'a', diff: '@@\n-a\n+b' } },
  },
  {
    tool: { type: 'shell' },
    name: 'shell',
    input: { commands: 'ls' },
    item: {
      type: 'shell_call',
      action: { commands: ['ls'], timeout_ms: null, max_output_length: null },
      environment: { type: 'local' },
    },
  },
  {
    tool: { type: 'local_shell' },
    name: 'local_shell',
    input: { command: ['ls'], timeout_ms: 5 },
    item: {
      type: 'local_shell_call',
      action: {
        type: 'exec',
        command: ['ls'],
        env: {},
        working_directory: null,
        timeout_ms: 5,
        user: null,
      },
    },
  },
  {
    tool: { type: 'computer' },
    name: 'computer',
    input: { actions: [{ type: 'click', x: 1, y: 2 }, { type: 'screenshot' }] },
    item: {
      type: 'computer_call',
      actions: [{ type: 'click', x: 1, y: 2, button: 'left' }, { type: 'screenshot' }],
      pending_safety_checks: [],
    },
  },
  {
    tool: { type: 'computer_use_preview', environment: 'mac', display_width: 9, display_height: 9 },
    name: 'computer',
    input: { type: 'double_click', x: 1, y: 2 },
    item: {
      type: 'computer_call',
      action: { type: 'double_click', x: 1, y: 2, keys: null },
      pending_safety_checks: [],
    },
  },
];

test.for(CASES)('a call of $tool.type comes back as its item, whole', ({ tool, name, input, item }) => {
  const { plan } = translated('messages', tool);
  const { body } = translateReply(plan, messagesReply(name, input), testReplyContext());
  const shown = { ...item, id: expect.any(String), call_id: 'call_1', status: 'completed' };
  expect(body).toMatchObject({ status: 'completed', output: [shown] });
});

test.for(CASES)('a call of $tool.type comes back as its item, streamed', ({ tool, name, input, item }) => {
  const { plan } = translated('chat', tool, true);
  const frames = new StreamTranslator(plan, testReplyContext()).push(chatStream(name, JSON.stringify(input)));
  const events = eventsOf(frames.join('')).filter(({ type }) => !/created|response\.in_progress/.test(type));
  const shown = { ...item, id: expect.any(String), call_id: 'call_1' };
  const done = { ...shown, status: 'completed' };
  expect(events).toMatchObject([
    { type: 'response.output_item.added', output_index: 0, item: { ...shown, status: 'in_progress' } },
    { type: 'response.output_item.done', output_index: 0, item: done },
    { type: 'response.completed', response: { output: [done] } },
  ]);
  expect(events[0].item).toEqual({ ...shown, status: 'in_progress' });
});

const NO_ITEM = { type: 'create_file', path: 'a' };

test('a call that is no item of its type is a failure of the upstream', () => {
  const { plan } = translated('messages', { type: 'apply_patch' });
  expect(() => translateReply(plan, messagesReply('apply_patch', NO_ITEM), testReplyContext())).toThrow(
    expect.objectContaining({ code: 'upstream_failed' }),
  );
  const { plan: streamed } = translated('chat', { type: 'apply_patch' }, true);
  const stream = chatStream('apply_patch', JSON.stringify(NO_ITEM));
  const events = eventsOf(new StreamTranslator(streamed, testReplyContext()).push(stream).join(''));
  expect(events.at(-1)).toMatchObject({ type: 'response.failed' });
});

test('a call that the token limit cut is left out of the incomplete answer', () => {
  const { plan } = translated('chat', { type: 'apply_patch' }, true);
  const stream = chatStream('apply_patch', '{"type":"create_f', 'length');
  const events = eventsOf(new StreamTranslator(plan, testReplyContext()).push(stream).join(''));
  expect(events.at(-1)).toMatchObject({ type: 'response.incomplete', response: { output: [] } });
});

test.for([
  { type: 'shell', environment: { type: 'container_auto' } },
  { type: 'tool_search' },
  { type: 'programmatic_tool_calling' },
])('$type that its provider runs is refused', (tool) => {
  expect(() => translated('chat', tool)).toThrow(expect.objectContaining({ code: 'unsupported_tool' }));
});
