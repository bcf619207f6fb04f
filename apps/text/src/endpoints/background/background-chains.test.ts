import { emptyRedis } from '@gateway/metering/testing/records-in-redis';
import { createGate } from '@gateway/simulator/gate';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { collectSse } from '@gateway/testkit/collect-sse';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createBackgroundResponses } from '../../background/background-responses.ts';
import { startText, type TextUnderTest } from '../../testing/start-text.ts';
import { recoverBackground } from './end-background.ts';

/** Conversations that go on from background responses, and background responses that continue conversations. */

let server: TestRedis;
let redis: Redis;
let simulator: Simulator;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let texts: TextUnderTest[] = [];

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  simulator = await startSimulator();
  folder = await temporaryFolder();
});
beforeEach(async () => {
  await emptyRedis(redis);
  simulator.reset();
});
afterEach(async () => {
  await Promise.all(texts.map((text) => text.close()));
  texts = [];
});
afterAll(async () => {
  await simulator.close();
  redis.disconnect();
  await server.close();
  await folder.close();
});

const configuration = (conversations = ''): string => `
channels:
  messages: { provider: simulator, baseUrl: "${simulator.url}", apiKey: k, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${simulator.url}", apiKey: k, speaks: [chat] }
  native: { provider: simulator, baseUrl: "${simulator.url}", apiKey: k, speaks: [responses] }
models:
  messages: { kind: text, routes: [{ channel: messages, model: claude-sonnet-5-5 }] }
  chat: { kind: text, routes: [{ channel: chat, model: gpt-5.2 }] }
  native: { kind: text, routes: [{ channel: native, model: gpt-5.2 }] }
${conversations}`;

const open = async (conversations?: string): Promise<TextUnderTest> => {
  const text = await startText({
    redis,
    configuration: configuration(conversations),
    partsDir: folder.path,
  });
  texts.push(text);
  return text;
};
const openWithWorker = async (conversations?: string): Promise<TextUnderTest> => {
  const text = await open(conversations);
  await text.startWorker();
  return text;
};

type Shown = Record<string, unknown>;
const shownBy = async (reply: Response): Promise<Shown> => Object(await reply.json());
const post = (text: TextUnderTest, body: object, more = {}) =>
  text.fetch('/v1/responses', { body: { model: 'messages', input: 'hi there', ...body }, ...more });
const inBackground = async (text: TextUnderTest, body: object = {}): Promise<Shown> => {
  const reply = await post(text, { background: true, ...body });
  expect(reply.status).toBe(200);
  return shownBy(reply);
};
const read = async (text: TextUnderTest, id: unknown): Promise<Shown> =>
  shownBy(await text.fetch(`/v1/responses/${id}`));
const completed = (text: TextUnderTest, id: unknown): Promise<Shown> =>
  waitFor(async () => {
    const shown = await read(text, id);
    return shown.status === 'completed' && shown;
  });

/** The last request to the provider, as text. */
const lastSent = (): string => simulator.requests.at(-1)?.text() ?? '';

test.for(['messages', 'chat', 'native'])(
  'a background response is continued on a %s channel, in the instant after its last event',
  async (model) => {
    const [text, other] = [await openWithWorker(), await open()];
    simulator.script('/v1/messages', { text: 'the answer in the background' });
    const events = await collectSse(
      await post(text, { input: 'the first question', background: true, stream: true }),
    );
    const { id, store } = Object(Object(events.at(-2)?.json).response);
    expect(store).toBe(true);
    const reply = await post(other, { model, input: 'the second question', previous_response_id: id });
    expect(reply.status).toBe(200);
    expect(await shownBy(reply)).toMatchObject({ status: 'completed', previous_response_id: id });
    const sent = lastSent();
    const words = ['the first question', 'the answer in the background', 'the second question'];
    const positions = words.map((one) => sent.indexOf(one));
    expect(positions).not.toContain(-1);
    expect(positions).toEqual(positions.toSorted((one, two) => one - two));
  },
);

test('a conversation is continued in the background, on another provider', async () => {
  const text = await openWithWorker();
  const first = await shownBy(await post(text, { model: 'native', input: 'the first question' }));
  const made = await inBackground(text, {
    model: 'chat',
    input: 'the second question',
    previous_response_id: first.id,
  });
  expect(made).toMatchObject({ status: 'queued', previous_response_id: first.id });
  const done = await completed(text, made.id);
  expect(done).toMatchObject({ previous_response_id: first.id, store: true });
  expect(lastSent()).toContain('the first question');
  const third = await inBackground(text, { input: 'the third question', previous_response_id: made.id });
  await completed(text, third.id);
  for (const words of ['the first question', 'the second question', 'the third question'])
    expect(lastSent()).toContain(words);
});

test('one that is queued or in progress cannot be continued, nor one that is gone', async () => {
  const text = await open();
  const { id } = await inBackground(text);
  const refusal = async (more = {}) => {
    const reply = await post(text, { previous_response_id: id, ...more });
    expect(reply.status).toBe(400);
    return shownBy(reply);
  };
  const tooEarly = { error: { param: 'previous_response_id', message: expect.stringContaining('queued') } };
  expect(await refusal()).toMatchObject(tooEarly);
  expect(await refusal({ background: true })).toMatchObject(tooEarly);
  const gate = createGate();
  simulator.script('/v1/messages', { gate: gate.opened });
  await text.startWorker();
  await simulator.nextRequest();
  expect(await refusal()).toMatchObject({ error: { param: 'previous_response_id' } });
  gate.open();
  await completed(text, id);
  expect((await post(text, { previous_response_id: id })).status).toBe(200);
  await text.fetch(`/v1/responses/${id}`, { method: 'DELETE' });
  expect(await refusal()).toMatchObject({ error: { code: 'previous_response_not_found' } });
});

test('a cancelled one is continued without its answer', async () => {
  const text = await open();
  const { id } = await inBackground(text, { input: 'the first question' });
  await text.fetch(`/v1/responses/${id}/cancel`, { method: 'POST' });
  expect((await post(text, { previous_response_id: id, input: 'the second question' })).status).toBe(200);
  expect(lastSent()).toContain('the first question');
});

test('its input is listed from the beginning, its output is referred to by its ids', async () => {
  const text = await open();
  const { id } = await inBackground(text, { input: 'the first question' });
  const list = async () => shownBy(await text.fetch(`/v1/responses/${id}/input_items`));
  const listed = await list();
  expect(listed).toMatchObject({ data: [{ type: 'message', role: 'user' }] });
  await text.startWorker();
  const done = await completed(text, id);
  expect(await list()).toEqual(listed);
  const [item] = Array.isArray(done.output) ? done.output : [];
  const input = [
    { role: 'user', content: 'the first question' },
    { type: 'item_reference', id: item.id },
    { role: 'user', content: 'the second question' },
  ];
  expect((await post(text, { input })).status).toBe(200);
  expect(lastSent()).toContain(item.content[0].text);
});

test('what is answered is kept once: with the conversation, not with the state', async () => {
  const text = await openWithWorker();
  const { id } = await inBackground(text);
  await completed(text, id);
  expect(await redis.hget(`gateway:{background}:response:${id}`, 'response')).toBeNull();
  expect(await read(text, id)).toMatchObject({ id, status: 'completed', background: true, store: true });
});

test('it can be read, and cancelling it changes nothing, when only the conversation is left of it', async () => {
  const text = await openWithWorker();
  const { id } = await inBackground(text);
  const done = await completed(text, id);
  await redis.del(`gateway:{background}:response:${id}`);
  expect(await read(text, id)).toEqual(done);
  const cancelled = await text.fetch(`/v1/responses/${id}/cancel`, { method: 'POST' });
  expect(await shownBy(cancelled)).toEqual(done);
});

test('an answer that was kept by a worker which died in the next instant is not lost', async () => {
  const text = await openWithWorker();
  const { id } = await inBackground(text);
  const done = await completed(text, id);
  const key = `gateway:{background}:response:${id}`;
  await redis.multi().hset(key, 'status', 'in_progress', 'response', '{}').hdel(key, 'ending').exec();
  expect(await read(text, id)).toEqual({ status: 'in_progress' });
  const responses = createBackgroundResponses({ redis, ttlSeconds: 60, eventsTtlSeconds: 60 });
  const { services } = text;
  const recovered = await recoverBackground({ services, responses }, String(id));
  const { input_tokens: inputTokens, output_tokens: outputTokens } = Object(done.usage);
  expect(recovered).toMatchObject({
    status: 'completed',
    usage: { outcome: 'ok', channel: 'messages', consumption: { inputTokens, outputTokens } },
  });
  expect(await read(text, id)).toEqual(done);
});

test.for(['messages', 'native'])(
  'a conversation goes on in the background, on a %s channel: it has the turn when that has ended, and is held until then',
  async (model) => {
    const text = await openWithWorker();
    const begun = await shownBy(
      await text.fetch('/v1/conversations', {
        body: { items: [{ role: 'user', content: 'what was before' }] },
      }),
    );
    const gate = createGate();
    simulator.script({ gate: gate.opened });
    const conversation = begun.id;
    const made = await inBackground(text, { model, input: 'the first question', conversation });
    expect(made).toMatchObject({ status: 'queued', conversation: { id: conversation } });
    await simulator.nextRequest();
    for (const background of [true, false]) {
      const locked = await post(text, { conversation, background });
      expect(locked.status).toBe(400);
      expect(await shownBy(locked)).toMatchObject({ error: { code: 'conversation_locked' } });
    }
    gate.open();
    expect(await completed(text, made.id)).toMatchObject({ conversation: { id: conversation }, store: true });
    expect(lastSent()).toContain('what was before');
    const { data } = await shownBy(await text.fetch(`/v1/conversations/${conversation}/items?order=asc`));
    const roles = Array.isArray(data) ? data.map(({ role }) => role) : [];
    expect(roles).toEqual(['user', 'user', 'assistant']);
    // It is part of the chain that continues the response, too.
    await post(text, { previous_response_id: made.id, input: 'the second question' });
    for (const words of ['what was before', 'the first question', 'the second question'])
      expect(lastSent()).toContain(words);
  },
);

test('a cancelled response adds nothing to its conversation and gives it up', async () => {
  const text = await openWithWorker();
  const { id: conversation } = await shownBy(await text.fetch('/v1/conversations', { body: {} }));
  simulator.script('/v1/messages', { gate: new Promise(() => undefined) });
  const { id } = await inBackground(text, { conversation });
  await simulator.nextRequest();
  await text.fetch(`/v1/responses/${id}/cancel`, { method: 'POST' });
  const next = await waitFor(async () => {
    const reply = await post(text, { conversation });
    return reply.ok && reply;
  });
  expect(await shownBy(next)).toMatchObject({ status: 'completed' });
  const { data } = await shownBy(await text.fetch(`/v1/conversations/${conversation}/items`));
  expect(data).toHaveLength(2);
});

test('where nothing is stored for a key, a background response is refused', async () => {
  const text = await open('conversations: { neverKept: { keys: [key_one] } }');
  const reply = await post(text, { background: true });
  expect(reply.status).toBe(400);
  expect(await shownBy(reply)).toMatchObject({ error: { code: 'invalid_value', param: 'background' } });
});

test('one that cannot be stored has store: false, is read all the same, and cannot be continued', async () => {
  const text = await openWithWorker('conversations: { maxBytesPerKey: 10 }');
  const reply = await post(text, { background: true });
  expect(reply.headers.get('x-gateway-stored')).toBe('false');
  const made = await shownBy(reply);
  expect(made).toMatchObject({ status: 'queued', store: false });
  expect(await completed(text, made.id)).toMatchObject({ store: false, output: [{ type: 'message' }] });
  const continued = await post(text, { previous_response_id: made.id });
  expect(await shownBy(continued)).toMatchObject({ error: { code: 'previous_response_not_found' } });
});

test('a team that shares sees, cancels and continues what any of its keys has made', async () => {
  const text = await openWithWorker('conversations: { sharingTeams: [search] }');
  const [one, two] = [
    { keyId: 'key_one', team: 'search' },
    { keyId: 'key_two', team: 'search' },
  ];
  const made = await shownBy(await post(text, { background: true }, { identity: one }));
  const shown = await waitFor(async () => {
    const seen = await shownBy(await text.fetch(`/v1/responses/${made.id}`, { identity: two }));
    return seen.status === 'completed' && seen;
  });
  expect(shown.id).toBe(made.id);
  const continued = await post(text, { previous_response_id: made.id }, { identity: two });
  expect(continued.status).toBe(200);
  const foreign = await text.fetch(`/v1/responses/${made.id}`, { identity: { keyId: 'key_three' } });
  expect(foreign.status).toBe(404);
});
