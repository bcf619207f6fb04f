import { expect, test } from 'vitest';
import { textsIn } from './text-slots.ts';

const found = (body: object) => textsIn(body, 'request').map(({ text }) => text);

test.for([
  ['a message that calls itself a thought', { messages: [{ role: 'user', thought: true, content: 'x' }] }],
  [
    'a message that calls itself reasoning',
    { messages: [{ role: 'user', type: 'reasoning', content: 'x' }] },
  ],
  [
    'a part that calls itself a thought',
    { contents: [{ role: 'user', parts: [{ text: 'x', thought: true }] }] },
  ],
  [
    'arguments with a type',
    {
      messages: [{ role: 'assistant', content: [{ type: 'tool_use', input: { type: 'thinking', q: 'x' } }] }],
    },
  ],
  ['arguments in a list', { contents: [{ parts: [{ functionResponse: { response: [{ word: 'x' }] } }] }] }],
  ['a predicted output', { messages: [], prediction: { type: 'content', content: 'x' } }],
  ['what a command said', { input: [{ type: 'shell_call_output', output: [{ stdout: 'x', stderr: '' }] }] }],
  ['what a command was', { input: [{ type: 'local_shell_call', action: { command: ['x'] } }] }],
  ["a document's title", { messages: [{ role: 'user', content: [{ type: 'document', title: 'x' }] }] }],
  ['instructions of a summary', { messages: [], compaction: { type: 'summarize', instructions: 'x' } }],
])('%s is checked', ([, body]) => {
  expect(found(Object(body))).toContain('x');
});

test('sealed reasoning is not checked', () => {
  expect(
    found({
      input: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'x' }], encrypted_content: 'y' }],
      messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: 'y' }] }],
      contents: [{ role: 'model', parts: [{ text: 'x', thought: true }] }],
    }),
  ).toEqual([]);
});
