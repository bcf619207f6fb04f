import { isLongRun } from '@gateway/testkit/is-long-run';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Stored responses and conversations that were not used for long are in the database; who names them sees no difference. */

let gateway: Gateway;
let redis: Redis;
const TURNS = isLongRun ? 200 : 60;

beforeAll(async () => {
  gateway = await startGateway({
    services: ['edge', 'text', 'admin'],
    restarts: false,
    // Seconds instead of hours: turns follow each other faster.
    env: { CONVERSATIONS_MOVE_AFTER_SECONDS: '1' },
    configuration: (origin) => `
channels:
  responses: { provider: simulator, baseUrl: "${origin}", speaks: [responses] }
  messages: { provider: simulator, baseUrl: "${origin}", speaks: [messages] }
models:
  responses: { kind: text, routes: [{ channel: responses }] }
  messages: { kind: text, routes: [{ channel: messages }] }
`,
  });
  redis = new Redis(gateway.stack.redisUrl);
});
afterAll(async () => {
  redis?.disconnect();
  await gateway?.close();
});

/** Whatever is stored is in the database. */
const allMoved = () =>
  waitFor(async () => (await redis.keys('gateway:store:{*}:records')).length === 0, { timeoutMs: 60_000 });

test('a long chain of turns, a branch of it and a conversation come back when they are named', {
  timeout: 240_000,
}, async () => {
  const { responses, conversations } = gateway.openai;
  const say = (model: string, words: string, previous: string | null) =>
    responses.create({ model, input: words, previous_response_id: previous });
  const conversation = await conversations.create({
    items: [{ type: 'message', role: 'user', content: 'words to keep' }],
  });
  const ids: string[] = [];
  for (let turn = 0; turn < TURNS; turn += 1)
    ids.push((await say('responses', `words of turn ${turn}`, ids.at(-1) ?? null)).id);
  const [first = '', middle = '', last = ''] = [ids[0], ids[TURNS / 2], ids.at(-1)];
  const shown = await responses.retrieve(last);
  await allMoved();

  expect(await responses.retrieve(last)).toEqual(shown);
  await allMoved();
  const inputs = await responses.inputItems.list(middle);
  expect(inputs.data).toMatchObject([{ content: [{ text: `words of turn ${TURNS / 2}` }] }]);
  await allMoved();

  // Another protocol's model is sent the whole of it.
  const branch = await say('messages', 'words of the branch', middle);
  const sent = gateway.simulator.requests.at(-1)?.body.toString() ?? '';
  for (let turn = 0; turn <= TURNS / 2; turn += 1) expect(sent).toContain(`words of turn ${turn}"`);
  expect(sent).not.toContain(`words of turn ${TURNS / 2 + 1}"`);
  await allMoved();

  const next = await say('responses', 'one more', last);
  expect(next.previous_response_id).toBe(last);
  expect(JSON.parse(gateway.simulator.requests.at(-1)?.body.toString() ?? '')).toMatchObject({
    previous_response_id: last,
  });
  await allMoved();

  const item = next.output[0]?.id ?? '';
  const referring = await responses.create({
    model: 'messages',
    input: [
      { type: 'item_reference', id: item },
      { role: 'user', content: 'what was that?' },
    ],
  });
  expect(referring.status).toBe('completed');
  const items = await conversations.items.list(conversation.id);
  expect(items.data).toMatchObject([{ content: [{ text: 'words to keep' }] }]);
  await allMoved();

  await responses.delete(first);
  await expect(responses.retrieve(first)).rejects.toMatchObject({ status: 404 });
  await expect(say('messages', 'again', branch.id)).rejects.toMatchObject({ status: 400 });
  await expect(responses.retrieve('resp_of_nobody')).rejects.toMatchObject({ status: 404 });
  await conversations.delete(conversation.id);
  await expect(conversations.retrieve(conversation.id)).rejects.toMatchObject({ status: 404 });
});
