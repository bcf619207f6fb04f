import { expect, test } from 'vitest';
import { MessagesRequest } from '../anthropic/messages.ts';
import { ChatCompletionsRequest } from '../openai/chat.ts';
import { ResponsesRequest } from '../openai/responses.ts';

const parameters = { type: 'object', properties: {} };
const known = { type: 'function', name: 'known', parameters };
const crm = { type: 'namespace', name: 'crm', description: 'CRM', tools: [{ ...known, name: 'nested' }] };
const allowed = (...names: string[]) => ({
  type: 'allowed_tools',
  mode: 'auto',
  tools: names.map((name) => ({ type: 'function', name })),
});

const responseWith = (tool_choice: unknown, more: object = {}) =>
  ResponsesRequest.safeParse({ model: 'm', input: 'hi', tools: [known, crm], tool_choice, ...more }).success;

test.for<[choice: object, isFound: boolean]>([
  [{ type: 'function', name: 'known' }, true],
  [{ type: 'function', name: 'lacking' }, false],
  [{ type: 'custom', name: 'lacking' }, false],
  [allowed('known'), true],
  [allowed('known', 'lacking'), false],
  [{ type: 'function', name: 'nested' }, true],
  [{ type: 'function', name: 'nested', namespace: 'crm' }, true],
  [{ type: 'function', name: 'nested', namespace: 'erp' }, false],
  // The provider decides a choice of another kind.
  [{ type: 'web_search' }, true],
  [{ type: 'mcp', server_label: 'x', name: 'lacking' }, true],
])('on responses the choice %j finds its tool: %s', ([choice, isFound]) => {
  expect(responseWith(choice)).toBe(isFound);
});

test.for<[what: string, more: object]>([
  ['an item of the input', { input: [{ type: 'additional_tools', tools: [{ ...known, name: 'later' }] }] }],
  ['a stored prompt', { prompt: { id: 'pmpt_1' } }],
  ['a conversation', { conversation: 'conv_1' }],
  ['an earlier response', { previous_response_id: 'resp_1' }],
])('on responses a tool may come with %s', ([, more]) => {
  expect(responseWith({ type: 'function', name: 'later' }, more)).toBe(true);
});

const messageWith = (tool_choice: unknown, more: object = {}) =>
  MessagesRequest.safeParse({
    model: 'm',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ name: 'known', input_schema: parameters }],
    tool_choice,
    ...more,
  }).success;

test.for<[choice: object, isFound: boolean]>([
  [{ type: 'tool', name: 'known' }, true],
  [{ type: 'tool', name: 'lacking' }, false],
  [{ type: 'auto' }, true],
])('on messages the choice %j finds its tool: %s', ([choice, isFound]) => {
  expect(messageWith(choice)).toBe(isFound);
});

const addition = [{ type: 'tool_addition', tool: { name: 'later', input_schema: parameters } }];

test.for<[what: string, more: object]>([
  ['an MCP server', { mcp_servers: [{ type: 'url', url: 'https://example.org', name: 'x' }] }],
  ['a toolset', { tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }] }],
  ['a kept thread', { thread: { type: 'continue', previous_message_id: 'msg_1' } }],
  [
    'a system message',
    {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'system', content: addition },
      ],
    },
  ],
])('on messages a tool may come with %s', ([, more]) => {
  expect(messageWith({ type: 'tool', name: 'later' }, more)).toBe(true);
});

const chatWith = (tool_choice: unknown) =>
  ChatCompletionsRequest.safeParse({
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    tools: [
      { type: 'function', function: { name: 'known', parameters } },
      { type: 'custom', custom: { name: 'free' } },
    ],
    tool_choice,
  }).success;

test.for<[choice: object, isFound: boolean]>([
  [{ type: 'function', function: { name: 'known' } }, true],
  [{ type: 'custom', custom: { name: 'free' } }, true],
  [{ type: 'function', function: { name: 'lacking' } }, false],
  [{ type: 'custom', custom: { name: 'lacking' } }, false],
  [
    {
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'lacking' } }] },
    },
    false,
  ],
])('on chat the choice %j finds its tool: %s', ([choice, isFound]) => {
  expect(chatWith(choice)).toBe(isFound);
});

test('a choice that demands a tool of a request without tools finds none', () => {
  expect(responseWith({ type: 'function', name: 'known' }, { tools: undefined })).toBe(false);
  expect(messageWith({ type: 'tool', name: 'known' }, { tools: undefined })).toBe(false);
});
