import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createKey } from './support/admin-keys.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Message threads by Anthropic's own client, over two text services and channels of all three protocols. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'admin'],
    replicas: { text: 2 },
    configuration: (origin) => `
channels:
  native: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [chat] }
  responses: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [responses] }
models:
  to-native: { kind: text, routes: [{ channel: native }] }
  to-chat: { kind: text, routes: [{ channel: chat }] }
  to-responses: { kind: text, routes: [{ channel: responses }] }
`,
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

/** Which text services have answered turns that continue a thread. */
const continuing = (): Set<string> =>
  new Set(
    gateway.lines.filter(({ text }) => text.includes('"thread":"continue"')).map(({ process }) => process),
  );

/** Turns that the provider got a whole conversation for have as many messages as it has. */
const sizes = (): number[] =>
  gateway.simulator.requests.map((request) => {
    const { messages, input } = Object(JSON.parse(request.text()));
    return (messages ?? input).length;
  });

const beginThread = (model: string) => {
  const thread = gateway.anthropic.beta.messages.thread({ model, max_tokens: 100 });
  const ask = async (turn: number) => {
    const question = { role: 'user' as const, content: `question ${turn}` };
    const streamed = turn % 2 === 1;
    const reply = streamed ? await thread.stream(question).finalMessage() : await thread.send(question);
    expect(reply.stop_reason).toBe('end_turn');
  };
  return { thread, ask };
};

const ODD = Array.from({ length: 10 }, (_, index) => 2 * index + 1);

test.for([
  ['to-chat', ODD],
  ['to-responses', ODD],
  ['to-native', ODD.map(() => 1)],
] as const)(
  '%s: ten turns by two services, each in the instant after the one before',
  async ([model, expected]) => {
    const { thread, ask } = beginThread(model);
    for (let turn = 1; turn <= 10; turn += 1) await ask(turn);
    expect(thread.messages).toHaveLength(20);
    expect(sizes()).toEqual(expected);
    await waitFor(() => continuing().size === 2);
  },
);

test('a thread continues when the service that answered has died', async () => {
  const { ask } = beginThread('to-chat');
  for (let turn = 1; turn <= 5; turn += 1) await ask(turn);
  for (const name of ['text', 'text-2']) {
    const dying = gateway.stack.process(name);
    dying.kill('SIGKILL');
    await dying.ended;
  }
  await waitFor(async () => (await gateway.fetch('/v1/models')).ok);
  for (let turn = 6; turn <= 10; turn += 1) await ask(turn);
  expect(sizes()).toEqual(ODD);
});

test('a thread belongs to its key', async () => {
  const other = await createKey(gateway.stack, { name: 'other' });
  const first = await gateway.anthropic.beta.messages.create({
    model: 'to-chat',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'mine' }],
    thread: { type: 'create' },
    betas: ['message-threads-2026-08-12'],
  });
  const stolen = await gateway.fetch('/v1/messages', {
    headers: {
      authorization: `Bearer ${other.key}`,
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'message-threads-2026-08-12',
    },
    json: {
      model: 'to-chat',
      max_tokens: 100,
      messages: [],
      thread: { type: 'continue', previous_message_id: first.id },
    },
  });
  expect(stolen.status).toBe(404);
  expect(await stolen.json()).toMatchObject({
    type: 'error',
    error: { type: 'not_found_error', details: { error_code: 'thread_not_found' } },
  });
});
