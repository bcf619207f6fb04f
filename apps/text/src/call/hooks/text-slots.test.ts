import { expect, test } from 'vitest';
import { surroundingsIn } from './surroundings.ts';
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
  [
    'what a citation quotes',
    {
      messages: [
        { role: 'assistant', content: [{ type: 'text', text: 'y', citations: [{ cited_text: 'x' }] }] },
      ],
    },
  ],
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

const TOOL = {
  type: 'function',
  function: { name: 'find', description: 'Finds.', parameters: { type: 'object' } },
};
const CALL = { id: 'c1', type: 'function', function: { name: 'find', arguments: '{"q":"x"}' } };
const [PICTURE, WEB] = ['data:image/png;base64,AAAA', 'https://example.com/a.png'];

test.for([
  [
    'Chat Completions',
    {
      tools: [TOOL],
      messages: [
        { role: 'user', content: [PICTURE, WEB].map((url) => ({ type: 'image_url', image_url: { url } })) },
        { role: 'assistant', content: null, tool_calls: [CALL] },
      ],
    },
  ],
  [
    'Responses',
    {
      tools: [{ type: 'function', ...TOOL.function }],
      input: [
        { role: 'user', content: [PICTURE, WEB].map((url) => ({ type: 'input_image', image_url: url })) },
        { type: 'function_call', call_id: 'c1', name: 'find', arguments: '{"q":"x"}' },
      ],
    },
  ],
  [
    'Messages',
    {
      tools: [{ name: 'find', description: 'Finds.', input_schema: { type: 'object' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            { type: 'image', source: { type: 'url', url: WEB } },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'find', input: { q: 'x' } }] },
      ],
    },
  ],
  [
    'Gemini',
    {
      tools: [{ functionDeclarations: [TOOL.function] }],
      contents: [
        {
          parts: [
            { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
            { fileData: { mimeType: 'image/png', fileUri: WEB } },
          ],
        },
        { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'find', args: { q: 'x' } } }] },
      ],
    },
  ],
])('images, tools and calls of %s are as Chat Completions has them', ([, body]) => {
  expect(surroundingsIn(body)).toEqual({
    ...{ images: [PICTURE, WEB], namedImages: 0 },
    ...{ tools: [TOOL], toolCalls: [CALL] },
  });
});

const PARTS = [{ type: 'input_image', image_url: PICTURE }];

test.for<[what: string, value: object, found: Partial<ReturnType<typeof surroundingsIn>>]>([
  [
    'what a computer shows',
    { type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: PICTURE } },
    { images: [PICTURE] },
  ],
  [
    'that there are images which only their provider has',
    {
      content: [
        { type: 'input_image', file_id: 'file-1' },
        { type: 'computer_screenshot', file_id: 'file-2' },
        { type: 'image', source: { type: 'file', file_id: 'file_3' } },
        { type: 'input_file', file_id: 'file-4' },
      ],
    },
    { namedImages: 3 },
  ],
  [
    'an image that has a URL beside the id by which only its provider has it',
    {
      content: [
        { type: 'input_image', file_id: 'file-1', image_url: WEB },
        { type: 'image', source: { type: 'file', file_id: 'file_2', url: WEB } },
        { type: 'input_image', file_id: '', image_url: PICTURE },
      ],
    },
    { images: [WEB, WEB, PICTURE], namedImages: 2 },
  ],
  [
    'a call of a custom tool',
    { type: 'custom_tool_call', call_id: 'c1', name: 'run', input: 'ls' },
    { toolCalls: [{ id: 'c1', type: 'custom', custom: { name: 'run', input: 'ls' } }] },
  ],
  [
    'a call of a custom tool in Chat Completions',
    { role: 'assistant', tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'run', input: 'ls' } }] },
    { toolCalls: [{ id: 'c1', type: 'custom', custom: { name: 'run', input: 'ls' } }] },
  ],
  [
    'the one call of a message, which has images too',
    { role: 'assistant', function_call: CALL.function, content: PARTS },
    { images: [PICTURE], toolCalls: [{ ...CALL, id: null }] },
  ],
  [
    "a call of Gemini's in its other spelling",
    { parts: [{ function_call: { id: 'c1', name: 'find', args: { q: 'x' } } }] },
    { toolCalls: [CALL] },
  ],
  [
    'a call of a tool of an MCP server',
    { content: [{ type: 'mcp_tool_use', id: 'c1', name: 'find', input: { q: 'x' } }] },
    { toolCalls: [CALL] },
  ],
])('%s is shown to a hook that gets it', ([, value, found]) => {
  expect(surroundingsIn({ input: [value] })).toEqual({
    ...{ images: [], namedImages: 0, tools: [], toolCalls: [] },
    ...found,
  });
});
