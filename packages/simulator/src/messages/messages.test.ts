import Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../start-simulator.ts';

const clientOf = ({ url }: Simulator) => new Anthropic({ baseURL: url, apiKey: 'key', maxRetries: 0 });

const user = (content: string) => ({ role: 'user' as const, content });
const BASE = { model: 'claude-sonnet-5-5', max_tokens: 4000 };
const WEATHER = {
  name: 'get_weather',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
};

const post = (simulator: Simulator, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${simulator.baseUrl}/messages?beta=true`, {
    method: 'POST',
    headers: {
      'x-api-key': 'k',
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
  });

test('the answer echoes the last user message, and count_tokens agrees with the usage', async () => {
  await using simulator = await startSimulator();
  const client = clientOf(simulator);
  const message = await client.messages.create({ ...BASE, system: 'Be brief.', messages: [user('Hello')] });
  expect(message).toMatchObject({
    content: [{ type: 'text', text: 'You said: Hello' }],
    stop_reason: 'end_turn',
  });
  const counted = await client.messages.countTokens({
    model: BASE.model,
    system: 'Be brief.',
    messages: [user('Hello')],
  });
  expect(counted.input_tokens).toBe(message.usage.input_tokens);
});

test('the official stream helper accepts thinking, parallel calls, web search, refusals and cut answers', async () => {
  await using simulator = await startSimulator();
  const client = clientOf(simulator);
  const final = async (request: Partial<Anthropic.MessageStreamParams>) =>
    client.messages.stream({ ...BASE, messages: [user('Hi')], ...request }).finalMessage();

  const thought = await final({ thinking: { type: 'enabled', budget_tokens: 1024 } });
  expect(thought.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
  expect(thought.usage.output_tokens_details).toMatchObject({ thinking_tokens: expect.any(Number) });

  const omitted = await final({ thinking: { type: 'adaptive', display: 'omitted' } });
  expect(omitted.content[0]).toMatchObject({
    type: 'thinking',
    thinking: '',
    signature: expect.stringMatching(/./),
  });

  const called = await final({ messages: [user('use tool get_weather twice')], tools: [WEATHER] });
  expect(called).toMatchObject({
    stop_reason: 'tool_use',
    content: [
      { type: 'tool_use', input: { city: 'example city' } },
      { type: 'tool_use', name: 'get_weather' },
    ],
  });

  const searched = await final({
    messages: [user('search the web')],
    tools: [{ type: 'web_search_20250305', name: 'web_search' }],
  });
  expect(searched.content.map(({ type }) => type)).toEqual([
    'server_tool_use',
    'web_search_tool_result',
    'text',
  ]);
  expect(searched.usage.server_tool_use).toMatchObject({ web_search_requests: 1 });

  expect(await final({ messages: [user('[[simulate refusal]]')] })).toMatchObject({ stop_reason: 'refusal' });
  const cut = await final({ max_tokens: 5, messages: [user('[[simulate tokens=40]]')] });
  expect(cut).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 5 } });
  const stopped = await final({ messages: [user('before END after')], stop_sequences: ['END'] });
  expect(stopped).toMatchObject({
    stop_reason: 'stop_sequence',
    stop_sequence: 'END',
    content: [{ text: 'You said: before ' }],
  });
});

test('streamed and whole answers are the same but for their ids', async () => {
  await using simulator = await startSimulator();
  const request = { ...BASE, messages: [user('Hi')], thinking: { type: 'adaptive' as const } };
  const { id: _id, ...whole } = await clientOf(simulator).messages.create(request);
  const { id: _streamedId, ...streamed } = await clientOf(simulator).messages.stream(request).finalMessage();
  expect(streamed).toMatchObject(whole);
});

test('thinking is accepted only unaltered and by its own provider', async () => {
  await using simulator = await startSimulator();
  await using foreign = await startSimulator({ signatureSecret: 'another' });
  const request = {
    ...BASE,
    thinking: { type: 'enabled' as const, budget_tokens: 1024 },
    messages: [user('use tool get_weather')],
    tools: [WEATHER],
  };
  const first = await clientOf(simulator).messages.create(request);
  const [thinking, call] = first.content;
  if (thinking?.type !== 'thinking' || call?.type !== 'tool_use')
    throw new Error('expected thinking and a call');
  const withThinking = (block: Anthropic.ThinkingBlock) => ({
    ...request,
    messages: [
      user('use tool get_weather'),
      { role: 'assistant' as const, content: [block, call] },
      {
        role: 'user' as const,
        content: [{ type: 'tool_result' as const, tool_use_id: call.id, content: '18 C' }],
      },
    ],
  });
  const answered = await clientOf(simulator).messages.create(withThinking(thinking));
  expect(answered.content.at(-1)).toMatchObject({ type: 'text', text: 'The tool answered: 18 C' });
  const refusal = {
    status: 400,
    message: expect.stringContaining('messages.1.content.0: Invalid `signature`'),
  };
  const altered = { ...thinking, thinking: `${thinking.thinking}!` };
  await expect(clientOf(simulator).messages.create(withThinking(altered))).rejects.toMatchObject(refusal);
  await expect(clientOf(foreign).messages.create(withThinking(thinking))).rejects.toMatchObject(refusal);
});

test('cached tokens are subtracted from input_tokens', async () => {
  await using simulator = await startSimulator();
  const text = `[[simulate cached-tokens=4 cache-write-tokens=2]] ${'word '.repeat(20)}`;
  const { usage } = await clientOf(simulator).messages.create({ ...BASE, messages: [user(text)] });
  expect(usage).toMatchObject({ cache_read_input_tokens: 4, cache_creation_input_tokens: 2 });
  expect(usage.input_tokens).toBe(Math.ceil(text.length / 4) - 6);
});

const MESSAGES = [user('Hi')];
test.for([
  [{ max_tokens: 5, messages: MESSAGES }, 'model: Field required'],
  [{ model: 'c', messages: MESSAGES }, 'max_tokens: Field required'],
  [{ model: 'c', max_tokens: 5 }, 'messages: Field required'],
  [{ model: 'c', max_tokens: 5, messages: [] }, 'messages: at least one message is required'],
  [
    { model: 'c', max_tokens: 5, messages: [{ role: 'assistant', content: 'x' }] },
    'messages: first message must use the "user" role',
  ],
  [
    { model: 'c', max_tokens: 5, messages: MESSAGES, temperature: 2 },
    'temperature: Input should be less than or equal to 1',
  ],
  [{ model: 'c', max_tokens: 'x', messages: MESSAGES }, 'max_tokens: Input should be a valid integer'],
  [
    { model: 'c', max_tokens: 5000, messages: MESSAGES, thinking: { type: 'enabled', budget_tokens: 10 } },
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
  ],
  [
    { model: 'c', max_tokens: 1024, messages: MESSAGES, thinking: { type: 'enabled', budget_tokens: 1024 } },
    '`max_tokens` must be greater than `thinking.budget_tokens`',
  ],
  [
    { model: 'c', max_tokens: 5, messages: MESSAGES, tools: [{ name: 'x' }] },
    'tools.0.custom.input_schema: Field required',
  ],
  [
    {
      model: 'c',
      max_tokens: 5,
      messages: [
        ...MESSAGES,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_X', name: 'x', input: {} }] },
        user('no'),
      ],
    },
    'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_X.',
  ],
] as const)('%j is refused: %s', async ([body, message]) => {
  await using simulator = await startSimulator();
  const response = await post(simulator, body);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    type: 'error',
    error: { type: 'invalid_request_error', message: expect.stringContaining(message) },
    request_id: response.headers.get('request-id'),
  });
});

test('a request needs a key and a known anthropic-version', async () => {
  await using simulator = await startSimulator();
  const body = { model: 'c', max_tokens: 5, messages: MESSAGES };
  const statusAndMessage = async (headers: Record<string, string>) => {
    const response = await fetch(`${simulator.baseUrl}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return [response.status, JSON.stringify(await response.json())];
  };
  const version = { 'anthropic-version': '2026-10-21' };
  expect(await statusAndMessage(version)).toEqual([
    401,
    expect.stringContaining('x-api-key header is required'),
  ]);
  expect(await statusAndMessage({ ...version, 'x-api-key': 'sk-invalid-1' })).toEqual([
    401,
    expect.stringContaining('invalid x-api-key'),
  ]);
  expect(await statusAndMessage({ 'x-api-key': 'k' })).toEqual([
    400,
    expect.stringContaining('anthropic-version: header is required'),
  ]);
  expect(await statusAndMessage({ 'x-api-key': 'k', 'anthropic-version': '2020-01-01' })).toEqual([
    400,
    expect.stringContaining('not a valid version'),
  ]);
  expect(await statusAndMessage({ ...version, authorization: 'Bearer k' })).toEqual([
    200,
    expect.stringContaining('end_turn'),
  ]);
});

test('the newest version has no sampling parameters', async () => {
  await using simulator = await startSimulator();
  const body = { model: 'c', max_tokens: 5, messages: MESSAGES, temperature: 1 };
  expect((await post(simulator, body)).status).toBe(200);
  expect((await post(simulator, body, { 'anthropic-version': '2026-10-21' })).status).toBe(400);
});
