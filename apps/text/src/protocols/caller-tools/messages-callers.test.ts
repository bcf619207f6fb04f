import { expect, test } from 'vitest';
import { translateReply } from '../../conversion/translate-reply.ts';
import { translateRequest } from '../../conversion/translate-request.ts';
import { StreamTranslator } from '../../conversion/translate-stream.ts';
import { testReplyContext, testTarget, testTokens } from '../../testing/test-context.ts';

const TOOLS = [
  { type: 'bash_20250124', name: 'bash' },
  { type: 'text_editor_20250124', name: 'str_replace_editor' },
  { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
  { type: 'memory_20250818', name: 'memory' },
  { type: 'computer_20251124', name: 'computer', display_width_px: 10, display_height_px: 10 },
  { type: 'computer_toolset_20260801' },
  { type: 'browser_toolset_20260801' },
];

const request = (more: object = {}) => ({
  model: 'm',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'Hi' }],
  tools: TOOLS,
  ...more,
});

const translated = (target: 'chat' | 'responses', body: object = request()) =>
  translateRequest({ caller: 'messages', body, target: testTarget(target), tokens: testTokens });

/** The upstream's name of a function, and what the caller is to see. */
const CALLS = [
  { name: 'bash', shown: { name: 'bash' } },
  { name: 'str_replace_editor', shown: { name: 'str_replace_editor' } },
  { name: 'memory', shown: { name: 'memory' } },
  { name: 'computer', shown: { name: 'computer' } },
  { name: 'computer__key', shown: { name: 'key', toolset_name: 'computer' } },
  { name: 'browser__key', shown: { name: 'key', toolset_name: 'browser' } },
];

test.for(CALLS)('a call of $name comes back as the block of its tool', ({ name, shown }) => {
  const { plan } = translated('responses');
  const call = { type: 'function_call', call_id: 'call_1', name, arguments: '{"text":"a"}' };
  const reply = {
    id: 'r',
    status: 'completed',
    output: [call],
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const block = { type: 'tool_use', id: 'call_1', ...shown, caller: { type: 'direct' } };
  expect(translateReply(plan, reply, testReplyContext()).body).toMatchObject({
    content: [{ ...block, input: { text: 'a' } }],
    stop_reason: 'tool_use',
  });

  const { plan: streamed } = translated('chat', request({ stream: true }));
  const delta = { tool_calls: [{ index: 0, id: 'call_1', function: { name, arguments: '{"text":"a"}' } }] };
  const frames = new StreamTranslator(streamed, testReplyContext()).push(
    Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`),
  );
  const [, opened = '{}'] = /data: (\{"type":"content_block_start".*)/.exec(frames.join('')) ?? [];
  expect(JSON.parse(opened).content_block).toEqual({ ...block, input: {} });
});

const namesOf = (body: unknown) =>
  [...JSON.stringify(body).matchAll(/"name":"([^"]*)"/g)].map(([, name]) => name);

test.for([
  {
    what: 'members that a toolset leaves out',
    configs: { key: { enabled: false } },
    missing: 'browser__key',
  },
  { what: 'JavaScript, unless it is enabled', configs: null, missing: 'browser__javascript_exec' },
  { what: 'files, unless they are enabled', configs: {}, missing: 'browser__file_upload' },
])('models are not offered $what', ({ configs, missing }) => {
  const { body } = translated('chat', request({ tools: [{ type: 'browser_toolset_20260801', configs }] }));
  expect(namesOf(body)).toContain('browser__navigate');
  expect(namesOf(body)).not.toContain(missing);
});

test('a tool of the provider itself stays refused', () => {
  const tools = [{ type: 'code_execution_20250825', name: 'code_execution' }];
  expect(() => translated('chat', request({ tools }))).toThrow(
    expect.objectContaining({ code: 'unsupported_tool' }),
  );
});

test.for([
  { type: 'tool', name: 'screenshot', chosen: 'computer__screenshot' },
  { type: 'tool', name: 'memory', chosen: 'memory' },
])('a choice of $name is one of $chosen', ({ chosen, ...choice }) => {
  const { body } = translated('responses', request({ tool_choice: choice }));
  expect(body.tool_choice).toEqual({ type: 'function', name: chosen });
});

test.for(['computer', 'computer_toolset_20260801'])(
  'a choice of the toolset %s is one of any of its members',
  (name) => {
    const tools = [{ type: 'computer_toolset_20260801' }, { type: 'bash_20250124', name: 'bash' }];
    const choice = { tool_choice: { type: 'tool', name }, tools };
    const { body } = translated('responses', request(choice));
    expect(body.tool_choice).toMatchObject({ type: 'allowed_tools', mode: 'required' });
    expect(namesOf(body.tool_choice)).toContain('computer__screenshot');
    expect(namesOf(body.tool_choice)).not.toContain('bash');
    const chat = translated('chat', request(choice)).body;
    expect(chat.tool_choice).toBe('required');
    expect(namesOf(chat.tools)).not.toContain('bash');
  },
);
