import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../../testing/start-stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first, second) => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [responses, speech] }
  two: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [messages, responses] }
models:
  plain: { kind: text, routes: [{ channel: one }], builtInTools: [] }
  lenient: { kind: text, routes: [{ channel: one }], builtInTools: [], dropUnavailableTools: true }
  searching: { kind: text, routes: [{ channel: two }], builtInTools: [web_search] }
  mixed:
    kind: text
    routes:
      - { channel: one, priority: 0, builtInTools: [file_search] }
      - { channel: two, priority: 1, builtInTools: [web_search] }
  tts-1: { kind: speech, routes: [{ channel: one }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const message = (model: string, more: object = {}) => ({
  model,
  max_tokens: 5,
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
});

test('a model that does not exist is a 404 in the words of each protocol', async () => {
  const response = await stack.text.fetch('/v1/responses', { body: { model: 'nope', input: 'hi' } });
  expect(response.status).toBe(404);
  expect(await response.json()).toEqual({
    error: {
      message: "The model 'nope' does not exist or you do not have access to it.",
      type: 'invalid_request_error',
      param: 'model',
      code: 'model_not_found',
    },
  });
  const other = await stack.text.fetch('/v1/messages', { body: message('nope') });
  expect(other.status).toBe(404);
  expect(await other.json()).toMatchObject({ error: { type: 'not_found_error', message: 'model: nope' } });
});

test("a model outside the key's patterns answers as if it did not exist", async () => {
  const identity = { models: ['other-*'] };
  const reply = await stack.text.fetch('/v1/responses', { body: { model: 'plain', input: 'hi' }, identity });
  expect(reply.status).toBe(404);
  expect(await reply.json()).toMatchObject({ error: { code: 'model_not_found' } });
});

test.for([
  ['/v1/responses', { model: 'tts-1', input: 'hi' }],
  ['/v1/messages', message('tts-1')],
  ['/v1/chat/completions', message('tts-1')],
] as const)('%s: a model of another kind is refused', async ([path, body]) => {
  const reply = await stack.text.fetch(path, { body });
  expect(reply.status).toBe(400);
  expect(JSON.stringify(await reply.json())).toContain(body.model);
});

test('a built-in tool that may be dropped is left out and named, unless the request depends on it', async () => {
  const tools = [{ type: 'web_search' }, { type: 'function', name: 'f', parameters: null, strict: false }];
  const send = (more: object, headers = {}) =>
    stack.text.fetch('/v1/responses', { body: { model: 'lenient', input: 'hi', tools, ...more }, headers });
  const reply = await send({});
  expect(reply.status).toBe(200);
  expect(reply.headers.get('x-gateway-dropped')).toBe('tools[0]');
  expect((await stack.first.nextRequest()).json()).toMatchObject({ tools: [{ name: 'f' }] });
  expect((await send({}, { 'x-gateway-strict': 'true' })).status).toBe(400);
  expect((await send({ tool_choice: { type: 'web_search' } })).status).toBe(400);
  const needed = await send({ tools: tools.slice(0, 1), tool_choice: 'required' });
  expect(await needed.json()).toMatchObject({ error: { code: 'unsupported_tool', param: 'tools[0]' } });
});

test.for([
  [
    { tools: [{ type: 'function', name: 'f' }, { type: 'web_search_preview' }] },
    'web_search_preview',
    'tools[1]',
  ],
  [{ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'file_search', 'tools[0]'],
  [{ tool_choice: { type: 'web_search_preview' } }, 'web_search_preview', 'tool_choice'],
] as const)('a built-in tool that no route offers is refused by name (%#)', async ([more, tool, param]) => {
  const reply = await stack.text.fetch('/v1/responses', { body: { model: 'plain', input: 'hi', ...more } });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toEqual({
    error: {
      message: `Tool '${tool}' is not available for model 'plain'.`,
      type: 'invalid_request_error',
      param,
      code: 'unsupported_tool',
    },
  });
});

test('on messages a server tool that no route offers is refused by name', async () => {
  const tools = [
    { type: 'web_search_20250305', name: 'web_search' },
    { type: 'code_execution_20250522', name: 'code_execution' },
  ];
  const reply = await stack.text.fetch('/v1/messages', { body: message('searching', { tools }) });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({
    error: {
      type: 'invalid_request_error',
      message: "tools.1: Tool 'code_execution_20250522' is not available for model 'searching'.",
    },
  });
  const offered = await stack.text.fetch('/v1/messages', {
    body: message('searching', { tools: tools.slice(0, 1) }),
  });
  expect(offered.status).toBe(200);
});

test.for([
  ['web_search_preview', 'two'],
  ['web_search', 'two'],
  ['file_search', 'one'],
  ['function', 'one'],
] as const)('a request with %s goes to a route that offers it', async ([type, channel]) => {
  const tool = { type, name: 'f', vector_store_ids: ['vs_1'] };
  const reply = await stack.text.fetch('/v1/responses', {
    body: { model: 'mixed', input: 'hi', tools: [tool] },
  });
  expect(reply.headers.get('x-gateway-channel')).toBe(channel);
});

test('tools that are offered by different routes only are refused for the one that goes too far', async () => {
  const tools = [{ type: 'file_search', vector_store_ids: ['vs_1'] }, { type: 'web_search' }];
  const reply = await stack.text.fetch('/v1/responses', { body: { model: 'mixed', input: 'hi', tools } });
  expect(await reply.json()).toMatchObject({ error: { code: 'unsupported_tool', param: 'tools[1]' } });
});
