import { expect, test } from 'vitest';
import { StreamTranslator } from '../conversion/translate-stream.ts';
import { testReplyContext } from '../testing/test-context.ts';
import { planFor } from '../testing/test-streams.ts';
import { TEXT_PROTOCOLS } from '../testing/text-pairs.ts';

const chunk = (delta: object) =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
const call = (index: number, name: string | undefined, text: string) =>
  chunk({
    tool_calls: [{ index, ...(name && { id: `call_${index}` }), function: { name, arguments: text } }],
  });

// Google's calls come whole.
test.for(TEXT_PROTOCOLS)('a caller of %s gets each delta with the chunk that brought it', (caller) => {
  const translator = new StreamTranslator(planFor(caller, 'chat'), testReplyContext());
  const push = (bytes: Buffer) => translator.push(bytes).join('');
  expect(push(chunk({ reasoning_content: 'Thinking' }))).toContain('Thinking');
  expect(push(chunk({ content: 'Hello' }))).toContain('Hello');
  expect(push(call(0, 'first_tool', ''))).toContain('first_tool');
  expect(push(call(0, undefined, '{"city":'))).toContain('{\\"city\\":');
  expect(push(call(0, undefined, '"Rome"}'))).toContain('Rome');
  // The first call is whole, so that the second one need not wait for the end.
  expect(push(call(1, 'second_tool', '{}'))).toContain('second_tool');
  expect(push(chunk({ content: 'Afterwards' }))).toContain('Afterwards');
});

test('a caller of gemini gets each text with the chunk that brought it, and a call once it is whole', () => {
  const translator = new StreamTranslator(planFor('gemini', 'chat'), testReplyContext());
  const push = (bytes: Buffer) => translator.push(bytes).join('');
  expect(push(chunk({ reasoning_content: 'Thinking' }))).toContain('Thinking');
  expect(push(chunk({ content: 'Hello' }))).toContain('Hello');
  expect(push(call(0, 'first_tool', '{"city":'))).toBe('');
  expect(push(call(0, undefined, '"Rome"}'))).toBe('');
  expect(push(call(1, 'second_tool', '{}'))).toMatch(/first_tool.*Rome/s);
  expect(push(chunk({ content: 'Afterwards' }))).toMatch(/second_tool.*Afterwards/s);
});

test('a call that begins while another is open waits only until that one is whole', () => {
  const translator = new StreamTranslator(planFor('messages', 'chat'), testReplyContext());
  const push = (bytes: Buffer) => translator.push(bytes).join('');
  push(call(0, 'first_tool', '{"a":'));
  expect(push(call(1, 'second_tool', '{"b":'))).toBe('');
  expect(push(call(0, undefined, '1}'))).toMatch(/1\}.*content_block_stop.*second_tool.*\{\\"b\\":/s);
});
