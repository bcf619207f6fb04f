import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../testing/start-stack.ts';

/** Values that only the maker of a server documents. */

const configuration = (first: string, second: string): string => `
channels:
  openai: { provider: openai, baseUrl: "${first}/v1", apiKey: k }
  vllm: { provider: vllm, baseUrl: "${second}/v1", apiKey: k, speaks: [chat, responses] }
  mistral: { provider: mistral, baseUrl: "${second}/v1", apiKey: k }
  messages: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [messages] }
  kimi: { provider: openai-compatible, baseUrl: "${second}/v1", apiKey: k, speaks: [messages] }
models:
  openai: { kind: text, routes: [{ channel: openai }] }
  vllm: { kind: text, routes: [{ channel: vllm }] }
  mistral: { kind: text, routes: [{ channel: mistral }] }
  messages: { kind: text, routes: [{ channel: messages }] }
  both: { kind: text, routes: [{ channel: openai, priority: 0 }, { channel: mistral, priority: 1 }] }
  kimi: { kind: text, routes: [{ channel: kimi }] }
  thinker: { kind: text, routes: [{ channel: kimi, priority: 0 }, { channel: openai, priority: 1 }] }
  away: { kind: text, routes: [{ channel: mistral, priority: 0 }, { channel: messages, priority: 1 }] }
`;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ configuration });
});
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});
afterAll(() => stack[Symbol.asyncDispose]());

const TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } };
const CHAT = { messages: [{ role: 'user', content: 'hi' }] };
const FIVE = ['a1', 'b2', 'c3', 'd4', 'e5'];
const OWN: readonly [path: keyof typeof ANSWERS, body: object, code: string, param: string][] = [
  ['chat/completions', { ...CHAT, tools: [TOOL], tool_choice: 'any' }, 'invalid_value', 'tool_choice'],
  ['chat/completions', { ...CHAT, reasoning_effort: 'default' }, 'invalid_value', 'reasoning_effort'],
  ['chat/completions', { ...CHAT, max_tokens: -1 }, 'integer_below_min_value', 'max_tokens'],
  [
    'chat/completions',
    { ...CHAT, max_completion_tokens: -1 },
    'integer_below_min_value',
    'max_completion_tokens',
  ],
  ['chat/completions', { ...CHAT, stop: FIVE }, 'array_above_max_length', 'stop'],
  ['responses', { input: 'hi', max_output_tokens: -1 }, 'integer_below_min_value', 'max_output_tokens'],
  ['responses', { input: 'hi', reasoning: { effort: 'default' } }, 'invalid_value', 'reasoning.effort'],
];

/** What a server of another maker answers, which the stand-in would refuse as OpenAI does. */
const ANSWERS = {
  'chat/completions': {
    id: 'c1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  },
  responses: { id: 'resp_1', object: 'response', status: 'completed', output: [] },
};

const send = (path: string, body: object) => stack.text.fetch(`/v1/${path}`, { body });

test.for(OWN)('%s: %j passes to a server of another maker as it was sent', async ([path, body]) => {
  stack.second.script(`/v1/${path}`, { json: ANSWERS[path] });
  const reply = await send(path, { model: 'vllm', ...body });
  expect(reply.status).toBe(200);
  expect(JSON.parse(String(stack.second.requests.at(-1)?.body))).toMatchObject(body);
});

test.for(OWN)(
  '%s: %j is refused where only a server of OpenAI would get it',
  async ([path, body, code, param]) => {
    for (const model of ['openai', 'messages']) {
      const reply = await send(path, { model, ...body });
      expect(reply.status).toBe(400);
      expect(await reply.json()).toMatchObject({ error: { code, param } });
    }
    expect(stack.first.requests).toEqual([]);
  },
);

test.for([
  { temperature: 2.1 },
  { top_p: 1.5 },
  { n: 0 },
  { max_tokens: 1.5 },
  { max_tokens: 'many' },
  { tool_choice: 5 },
  { stop: [1] },
])('%j is refused at every server', async (body) => {
  expect((await send('chat/completions', { model: 'mistral', ...CHAT, ...body })).status).toBe(400);
  expect(stack.second.requests).toEqual([]);
});

test('a value of another maker does not go to a server that would refuse it', async () => {
  const reply = await send('chat/completions', { model: 'both', ...CHAT, tools: [TOOL], tool_choice: 'any' });
  expect(reply.status).toBe(200);
  expect(stack.first.requests).toEqual([]);
  expect(stack.second.requests.length).toBe(1);
});

test('where another protocol takes over, its words say the same', async () => {
  stack.second.script('/v1/chat/completions', { status: 500, json: { error: { message: 'down' } } });
  const reply = await send('chat/completions', {
    model: 'away',
    ...CHAT,
    tools: [TOOL],
    tool_choice: 'any',
    max_tokens: -1,
    reasoning_effort: 'default',
    stop: FIVE,
  });
  expect(reply.status).toBe(200);
  const sent = JSON.parse(String(stack.first.requests.at(-1)?.body));
  expect(sent).toMatchObject({ tool_choice: { type: 'any' }, stop_sequences: FIVE });
  expect(sent.max_tokens).toBeGreaterThan(1);
  expect(sent.output_config).toBeUndefined();
  expect(reply.headers.get('x-gateway-dropped')).toBeNull();
});

const MESSAGES = { max_tokens: 2000, messages: [{ role: 'user', content: 'hi' }] };
const OWN_MESSAGES: readonly [body: object, param: string | null][] = [
  [{ thinking: { type: 'enabled' } }, 'thinking.enabled.budget_tokens'],
  [{ thinking: { type: 'enabled', budget_tokens: 0 } }, 'thinking.enabled.budget_tokens'],
  [{ thinking: { type: 'enabled', budget_tokens: 4000 } }, null],
  [{ temperature: 1.3 }, 'temperature'],
];

test.for(OWN_MESSAGES)('messages: %j passes to a server of another maker as it was sent', async ([body]) => {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [], stop_reason: 'end_turn' };
  stack.second.script('/v1/messages', { json: message });
  expect((await send('messages', { model: 'kimi', ...MESSAGES, ...body })).status).toBe(200);
  expect(JSON.parse(String(stack.second.requests.at(-1)?.body))).toMatchObject(body);
});

test.for(OWN_MESSAGES)('messages: %j is refused where only Anthropic would get it', async ([body, param]) => {
  for (const model of ['openai', 'messages']) {
    const reply = await send('messages', { model, ...MESSAGES, ...body });
    expect(reply.status).toBe(400);
    if (param !== null) expect(await reply.text()).toContain(param);
  }
  expect(stack.first.requests).toEqual([]);
});

test.for([
  { thinking: { type: 'often' } },
  { thinking: { type: 'enabled', budget_tokens: 'much' } },
  { temperature: 2.1 },
  { max_tokens: -1 },
])('messages: %j is refused at every server', async (body) => {
  expect((await send('messages', { model: 'kimi', ...MESSAGES, ...body })).status).toBe(400);
  expect(stack.second.requests).toEqual([]);
});

test('thinking without a budget is counted as it is sent, and is reasoning where another protocol takes over', async () => {
  const body = { ...MESSAGES, thinking: { type: 'enabled' } };
  const { max_tokens: _, ...counted } = body;
  stack.second.script('/v1/messages/count_tokens', { json: { input_tokens: 7 } });
  const count = await send('messages/count_tokens', { model: 'kimi', ...counted });
  expect(await count.json()).toEqual({ input_tokens: 7 });
  stack.second.script('/v1/messages', { status: 500, json: { error: { message: 'down' } } });
  const reply = await send('messages', { model: 'thinker', ...body });
  expect(reply.status).toBe(200);
  expect(JSON.parse(String(stack.first.requests.at(-1)?.body)).reasoning?.effort).toBeUndefined();
});
