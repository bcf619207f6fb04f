import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** A model of each text protocol, reached by the clients of the others, through all processes. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    services: ['edge', 'text'],
    configuration: (origin) => `
channels:
  claude: { provider: simulator, baseUrl: "${origin}", speaks: [messages] }
  gpt: { provider: simulator, baseUrl: "${origin}", speaks: [responses] }
  open: { provider: simulator, baseUrl: "${origin}", speaks: [chat] }
models:
  claude-sonnet-5: { kind: text, routes: [{ channel: claude }] }
  gpt-5.2: { kind: text, routes: [{ channel: gpt }] }
  llama-4: { kind: text, routes: [{ channel: open }] }
  "claude-*": { kind: text, routes: [{ channel: claude }] }
`,
  });
});
afterAll(() => gateway?.close());

const NAMES = ['claude-sonnet-5', 'gpt-5.2', 'llama-4'];

test('both official clients list the models, each with its own key header', async () => {
  const openai: string[] = [];
  for await (const { id } of gateway.openai.models.list()) openai.push(id);
  expect(openai.slice(0, NAMES.length)).toEqual(NAMES);
  expect(openai).toContain('claude-opus-5-5');
  const anthropic: string[] = [];
  for await (const { id } of gateway.anthropic.models.list({ limit: 2 })) anthropic.push(id);
  expect(anthropic).toEqual(openai);
  expect(await gateway.anthropic.models.retrieve('claude-of-a-pattern')).toMatchObject({
    id: 'claude-of-a-pattern',
    type: 'model',
  });
  const reply = await fetch(`${gateway.url}/v1/models`, { headers: { 'x-api-key': gateway.key } });
  expect(reply.status).toBe(200);
});

test.for(NAMES)('%s answers the clients of all three protocols', async (model) => {
  const { openai, anthropic } = gateway;
  const response = await openai.responses.create({ model, input: 'What is up?' });
  expect(response.output_text).toBe('You said: What is up?');
  const messages = [{ role: 'user' as const, content: 'What is up?' }];
  const completion = await openai.chat.completions.create({ model, messages });
  expect(completion.choices[0]?.message.content).toBe('You said: What is up?');
  const message = await anthropic.messages.create({ model, max_tokens: 100, messages });
  expect(message.content).toMatchObject([{ type: 'text', text: 'You said: What is up?' }]);
  const counted = await anthropic.messages.countTokens({ model, messages });
  expect(counted.input_tokens).toBeGreaterThan(2);
  const input = await openai.responses.inputTokens.count({ model, input: 'What is up?' });
  expect(input).toMatchObject({ object: 'response.input_tokens', input_tokens: expect.any(Number) });
});

test('the caller gets the dropped parameters and the channel through the edge', async () => {
  const reply = await gateway.fetch('/v1/chat/completions', {
    json: { model: 'claude-sonnet-5', seed: 7, messages: [{ role: 'user', content: 'Hello' }] },
  });
  expect(reply.headers.get('x-gateway-dropped')).toBe('seed');
  expect(reply.headers.get('x-gateway-channel')).toBe('claude');
  const strict = await gateway.fetch('/v1/chat/completions', {
    json: { model: 'claude-sonnet-5', seed: 7, messages: [{ role: 'user', content: 'Hello' }] },
    headers: { 'x-gateway-strict': 'true' },
  });
  expect(strict.status).toBe(400);
});
