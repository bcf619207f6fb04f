import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Conversations by OpenAI's own client, over two text services and channels of all three protocols. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text'],
    replicas: { text: 2 },
    configuration: (origin) => `
channels:
  native: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [responses] }
  messages: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [chat] }
models:
  to-native: { kind: text, routes: [{ channel: native }] }
  to-messages: { kind: text, routes: [{ channel: messages }] }
  to-chat: { kind: text, routes: [{ channel: chat }] }
`,
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const MODELS = ['to-native', 'to-messages', 'to-chat'];
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('ten turns with a picture, alternating between models and services, which both die in the middle', async () => {
  const { id } = await gateway.openai.conversations.create({ metadata: { topic: 'a picture' } });
  const ask = async (turn: number) => {
    const text = { type: 'input_text' as const, text: `question ${turn}` };
    const picture = { type: 'input_image' as const, image_url: PNG, detail: 'auto' as const };
    const body = {
      model: MODELS[turn % MODELS.length] ?? '',
      input: [{ role: 'user' as const, content: turn === 1 ? [text, picture] : [text] }],
      conversation: id,
    };
    const response =
      turn % 2 === 0
        ? await gateway.openai.responses.create(body)
        : await gateway.openai.responses.stream({ ...body, stream: true }).finalResponse();
    expect(response).toMatchObject({ status: 'completed', conversation: { id } });
    const sent = gateway.simulator.requests.at(-1)?.text() ?? '';
    for (let earlier = 1; earlier <= turn; earlier += 1) expect(sent).toContain(`question ${earlier}`);
    expect(sent).toContain('iVBORw0KGgo');
  };
  for (let turn = 1; turn <= 5; turn += 1) await ask(turn);
  for (const name of ['text', 'text-2']) {
    const dying = gateway.stack.process(name);
    dying.kill('SIGKILL');
    await dying.ended;
  }
  await waitFor(async () => (await gateway.fetch('/v1/models')).ok);
  for (let turn = 6; turn <= 10; turn += 1) await ask(turn);

  const items: string[] = [];
  for await (const item of gateway.openai.conversations.items.list(id, { order: 'asc', limit: 7 }))
    items.push('role' in item ? String(item.role) : item.type);
  expect(items).toEqual(Array.from({ length: 20 }, (_, index) => (index % 2 ? 'assistant' : 'user')));
});
