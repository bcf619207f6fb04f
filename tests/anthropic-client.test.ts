import Anthropic from '@anthropic-ai/sdk';
import { recordedStream } from '@gateway/simulator/recorded-stream';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

let gateway: Gateway;
let anthropic: Anthropic;
beforeAll(async () => {
  gateway = await startGateway({ services: ['edge', 'text'] });
  anthropic = gateway.anthropic;
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const question = {
  model: 'claude-sonnet-5-5',
  max_tokens: 1000,
  messages: [{ role: 'user', content: 'What is up?' }],
} satisfies Anthropic.MessageCreateParams;

test('messages.create gives the whole message', async () => {
  const { data, response, request_id } = await anthropic.messages.create(question).withResponse();
  expect(data).toMatchObject({
    type: 'message',
    role: 'assistant',
    model: question.model,
    content: [{ type: 'text', text: 'You said: What is up?' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 3, output_tokens: 6 },
  });
  expect(response.headers.get('x-gateway-channel')).toBe('provider');
  expect(request_id).toBe(response.headers.get('x-request-id'));
});

test('a key is taken as x-api-key too', async () => {
  const older = new Anthropic({
    baseURL: gateway.url,
    apiKey: null,
    maxRetries: 0,
    defaultHeaders: { 'x-api-key': gateway.key, 'anthropic-version': '2023-06-01' },
  });
  expect((await older.messages.create(question)).stop_reason).toBe('end_turn');
});

test('messages.create with stream: true gives every event', async () => {
  const types = new Set<string>();
  let text = '';
  for await (const event of await anthropic.messages.create({ ...question, stream: true })) {
    types.add(event.type);
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text;
  }
  expect(text).toBe('You said: What is up?');
  expect([...types]).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
});

test.for([
  ['messages-text', 'end_turn', ['text']],
  ['messages-thinking-and-text', 'end_turn', ['thinking', 'text']],
  ['messages-tool-use-parallel', 'tool_use', ['text', 'tool_use', 'tool_use']],
  ['messages-max-tokens', 'max_tokens', ['text']],
] as const)(
  'messages.stream puts the message together from the stream %s',
  async ([name, reason, blocks]) => {
    gateway.simulator.script('/v1/messages', { sse: recordedStream(name) });
    const message = await anthropic.messages.stream(question).finalMessage();
    expect(message.stop_reason).toBe(reason);
    expect(message.content.map(({ type }) => type)).toEqual(blocks);
  },
);

test('thinking comes back signed, and its signature is accepted in the next turn', async () => {
  const thinking = { type: 'enabled', budget_tokens: 1024 } as const;
  const first = await anthropic.messages
    .stream({ ...question, max_tokens: 2000, thinking, messages: [{ role: 'user', content: 'Think.' }] })
    .finalMessage();
  expect(first.content[0]).toMatchObject({ type: 'thinking', signature: expect.stringMatching(/./) });
  const second = await anthropic.messages.create({
    ...question,
    max_tokens: 2000,
    thinking,
    messages: [
      { role: 'user', content: 'Think.' },
      { role: 'assistant', content: first.content },
      { role: 'user', content: 'And again.' },
    ],
  });
  expect(second.stop_reason).toBe('end_turn');
});

test('tools: a call is answered and the model continues', async () => {
  const tools: Anthropic.Tool[] = [{ name: 'weather', input_schema: { type: 'object', properties: {} } }];
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'use tool weather' }];
  const first = await anthropic.messages.create({ ...question, tools, messages });
  const call = first.content.find((block) => block.type === 'tool_use');
  const second = await anthropic.messages.create({
    ...question,
    tools,
    messages: [
      ...messages,
      { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: 'sunny' }] },
    ],
  });
  expect(second.content.at(-1)).toMatchObject({ type: 'text', text: expect.stringContaining('sunny') });
});

test('messages.countTokens counts without generating', async () => {
  const { model, messages } = question;
  expect(await anthropic.messages.countTokens({ model, messages })).toEqual({ input_tokens: 3 });
  expect(gateway.simulator.requests.map(({ path }) => path)).toEqual(['/v1/messages/count_tokens']);
});

test('beta features travel on as the client sends them', async () => {
  await anthropic.beta.messages.create({ ...question, betas: ['context-management-2025-06-27'] });
  const sent = await gateway.simulator.nextRequest();
  expect(sent.headers['anthropic-beta']).toContain('context-management-2025-06-27');
  expect(sent.headers['anthropic-version']).toBe('2026-10-21');
});
