import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { collectSse } from '@gateway/testkit/collect-sse';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startText, type TextUnderTest } from './testing/start-text.ts';

/** Conversations that go on by the ids of earlier responses, on channels of all protocols. */

const resources = new AsyncDisposableStack();
let first: Simulator;
let second: Simulator;
let redis: Redis;
let texts: readonly [TextUnderTest, TextUnderTest];
let start: () => Promise<TextUnderTest>;

const configuration = (conversations = '') => `
channels:
  one: { provider: simulator, baseUrl: "${first.url}", apiKey: k, speaks: [responses] }
  two: { provider: simulator, baseUrl: "${second.url}", apiKey: k, speaks: [responses] }
  forgetful: { provider: simulator, baseUrl: "${second.url}", apiKey: k, speaks: [responses], quirks: { storedResponses: false } }
  messages: { provider: simulator, baseUrl: "${second.url}", apiKey: k, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${second.url}", apiKey: k, speaks: [chat] }
models:
  responses: { kind: text, routes: [{ channel: one }] }
  other: { kind: text, routes: [{ channel: two }] }
  forgetful: { kind: text, routes: [{ channel: forgetful }] }
  messages: { kind: text, routes: [{ channel: messages }] }
  chat: { kind: text, routes: [{ channel: chat }] }
  both: { kind: text, routes: [{ channel: one, priority: 0 }, { channel: messages, priority: 1 }] }
${conversations}`;

const configure = (conversations = ''): void => {
  const parsed = parseConfiguration(configuration(conversations), 'gateway.yaml', {});
  for (const text of texts) text.upstream.replace(parsed);
};

beforeAll(async () => {
  const server = resources.adopt(await startRedis(), (it) => it.close());
  redis = resources.adopt(new Redis(server.url), (it) => it.disconnect());
  first = resources.use(await startSimulator());
  second = resources.use(await startSimulator());
  const folder = resources.adopt(await temporaryFolder(), (it) => it.close());
  start = async () =>
    resources.adopt(
      await startText({ redis, partsDir: folder.path, configuration: configuration() }),
      (text) => text.close(),
    );
  texts = [await start(), await start()];
});
afterAll(() => resources.disposeAsync());
beforeEach(async () => {
  await redis.flushall();
  first.reset();
  second.reset();
  configure();
});

const OTHER = { keyId: 'key_two' };

interface Turn {
  readonly text?: TextUnderTest;
  readonly identity?: object;
  readonly path?: string;
}

const send = (body: object, { text = texts[0], identity = {}, path = '/v1/responses' }: Turn = {}) =>
  text.fetch(path, { body, identity });

const create = async (body: object, turn: Turn = {}): Promise<Record<string, unknown>> => {
  const reply = await send({ input: 'hi', ...body }, turn);
  const made = Object(await reply.json());
  expect(made).toMatchObject({ object: 'response', status: 'completed' });
  return made;
};

const get = async (id: unknown, text = texts[0], identity = {}) =>
  text.fetch(`/v1/responses/${id}`, { identity });

/** The conversation that reached a provider last, in the words of whichever protocol: what was said by whom. */
const reached = async (simulator: Simulator): Promise<string[]> => {
  const { body } = simulator.requests.findLast(({ method }) => method === 'POST') ?? {};
  const { input, messages } = Object(JSON.parse(String(body)));
  return [input ?? messages].flat().map((item: unknown) => {
    const { role, type, content, call_id, tool_call_id } = Object(item);
    const parts = typeof content === 'string' ? content : [content ?? []].flat().map(partText).join('|');
    return `${role ?? type}: ${parts || (call_id ?? tool_call_id ?? '')}`;
  });
};
const partText = (part: unknown): string => {
  const { text, type } = Object(part);
  return text ?? type;
};

const simulatorOf = (model: string) => (model === 'responses' ? first : second);

const MODELS = ['responses', 'forgetful', 'messages', 'chat'] as const;

test.for(MODELS)(
  '%s: ten turns go on by their ids, on alternating replicas, streamed or not',
  async (model) => {
    let previous: unknown = null;
    for (let turn = 0; turn < 10; turn += 1) {
      const body = {
        model,
        input: `turn ${turn}`,
        ...(turn > 0 && { previous_response_id: previous }),
      };
      const text = texts[turn % 2];
      if (turn % 3 === 2) {
        const events = await collectSse(await send({ ...body, stream: true }, { ...(text && { text }) }));
        const last = events.findLast(({ event }) => event === 'response.completed');
        previous = Object(last?.json).response.id;
      } else {
        const made = await create(body, { ...(text && { text }) });
        expect(made).toMatchObject({ store: true, previous_response_id: previous });
        previous = made.id;
      }
    }
    const list = await texts[1].fetch(`/v1/responses/${previous}/input_items`);
    expect(await list.json()).toMatchObject({ data: [{ role: 'user', content: [{ text: 'turn 9' }] }] });
    if (model === 'responses') return;
    const conversation = await reached(second);
    expect(conversation).toHaveLength(19);
    expect(conversation[0]).toBe('user: turn 0');
    expect(conversation[18]).toBe('user: turn 9');
  },
);

test('a provider that has the conversation is sent the id alone, and nothing else', async () => {
  const { id } = await create({ model: 'responses', input: 'one' });
  await create({ model: 'responses', input: 'two', previous_response_id: id });
  expect(JSON.parse(String(first.requests.at(-1)?.body))).toEqual({
    model: 'responses',
    input: 'two',
    previous_response_id: id,
  });
});

test.for(
  MODELS.flatMap((from) =>
    ([...MODELS, 'other'] as const).filter((to) => to !== from).map((to) => [from, to] as const),
  ),
)('a conversation begun on %s goes on on %s, and back', async ([from, to]) => {
  const begun = await create({ model: from, input: 'my name is Ada' });
  const next = await create({ model: to, input: 'and now?', previous_response_id: begun.id });
  expect(next.previous_response_id).toBe(begun.id);
  const [question, answer, last] = await reached(simulatorOf(to));
  expect(question).toBe('user: my name is Ada');
  expect(answer).toMatch(/^assistant: /);
  expect(last).toBe('user: and now?');
  const back = await create(
    { model: from, input: 'back', previous_response_id: next.id },
    { text: texts[1] },
  );
  expect(back.previous_response_id).toBe(next.id);
  expect(await reached(simulatorOf(from))).toHaveLength(5);
  expect(await (await get(back.id, texts[1])).json()).toEqual(back);
});

test('a stream of another channel shows the response that it continues in every event', async () => {
  const { id } = await create({ model: 'messages' });
  const events = await collectSse(
    await send({ model: 'responses', input: 'and?', previous_response_id: id, stream: true }),
  );
  const shown = events.flatMap(({ json }) => Object(json).response ?? []);
  expect(shown).toHaveLength(3);
  for (const response of shown) expect(response.previous_response_id).toBe(id);
});

test('a conversation goes on where its channel fails, and where it is gone from the configuration', async () => {
  const { id } = await create({ model: 'both', input: 'one' });
  first.script('/v1/responses', { status: 503, json: { error: { message: 'busy' } } });
  const reply = await send({ model: 'both', input: 'two', previous_response_id: id });
  expect(reply.headers.get('x-gateway-channel')).toBe('messages');
  const next = Object(await reply.json());
  const without = configuration().replace(/\{ channel: one, priority: 0 \}, /, '');
  texts[0].upstream.replace(parseConfiguration(without, 'gateway.yaml', {}));
  await create({ model: 'both', input: 'three', previous_response_id: next.id });
  expect(await reached(second)).toHaveLength(5);
  expect((await get(id)).status).toBe(200);
});

test('a provider that has forgotten a response is sent the conversation', async () => {
  const { id } = await create({ model: 'responses', input: 'one' });
  first.reset();
  await create({ model: 'responses', input: 'two', previous_response_id: id });
  expect(await reached(first)).toEqual(['user: one', expect.stringMatching(/^assistant/), 'user: two']);
  expect((await get(id)).status).toBe(200);
  const deleted = await texts[0].fetch(`/v1/responses/${id}`, { method: 'DELETE' });
  expect(await deleted.json()).toEqual({ id, object: 'response', deleted: true });
});

test.for(MODELS)('%s: branches of one response do not see each other', async (model) => {
  const { id } = await create({ model, input: 'root' });
  const branches = await Promise.all(
    ['left', 'right'].map((input, index) => {
      const [text = texts[0]] = texts.slice(index);
      return create({ model, input, previous_response_id: id }, { text });
    }),
  );
  await create({ model: 'chat', input: 'on', previous_response_id: branches[0]?.id });
  const conversation = await reached(second);
  expect(conversation).toContain('user: left');
  expect(conversation).not.toContain('user: right');
});

test.for(MODELS)('%s: tool outputs follow a call by its id', async (model) => {
  const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } }];
  const asked = await create({ model, tools, tool_choice: 'required', input: 'weather?' });
  const call = Object(asked.output).find(({ type }: { type: string }) => type === 'function_call');
  const output = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' };
  const told = await create({ model, tools, input: [output], previous_response_id: asked.id });
  expect(told.status).toBe('completed');
  const elsewhere = await create({ model: 'messages', tools, input: 'sure?', previous_response_id: told.id });
  expect(elsewhere.status).toBe('completed');
});

test('instructions and tools are not carried over', async () => {
  const { id } = await create({ model: 'messages', instructions: 'Speak French.', input: 'one' });
  const next = await create({ model: 'messages', input: 'two', previous_response_id: id });
  expect(next.instructions).toBeNull();
  expect(Object(JSON.parse(String(second.requests.at(-1)?.body))).system).toBeUndefined();
});

test('a picture is kept outside of Redis, and sent again', async () => {
  const image_url = `data:image/png;base64,${'A'.repeat(40_000)}`;
  const content = [
    { type: 'input_text', text: 'what is it?' },
    { type: 'input_image', image_url },
  ];
  const { id } = await create({ model: 'chat', input: [{ role: 'user', content }] });
  const sizes = await Promise.all(
    (await redis.keys('gateway:store:*')).map((key) => redis.memory('USAGE', key)),
  );
  expect(Math.max(...sizes.map(Number))).toBeLessThan(20_000);
  await create({ model: 'chat', input: 'sure?', previous_response_id: id }, { text: texts[1] });
  expect(String(second.requests.at(-1)?.body)).toContain(image_url);
  await create({ model: 'responses', input: 'sure?', previous_response_id: id });
  expect(String(first.requests.at(-1)?.body)).toContain(image_url);
});

test.for(MODELS)('%s: items are referred to by their ids, the input’s own too', async (model) => {
  const made = await create({ model, input: 'one' });
  const list = Object(await (await texts[0].fetch(`/v1/responses/${made.id}/input_items`)).json());
  const input = [
    { type: 'item_reference', id: list.data[0].id },
    { type: 'item_reference', id: Object(made.output)[0].id },
    { role: 'user', content: 'two' },
  ];
  const expected = ['user: one', expect.stringMatching(/^assistant: /), 'user: two'];
  await create({ model: 'messages', input }, { text: texts[1] });
  expect(await reached(second)).toEqual(expected);
  const next = await create({ model: 'other', input });
  expect(await reached(second)).toEqual(expected);
  const items = Object(await (await texts[0].fetch(`/v1/responses/${next.id}/input_items?order=asc`)).json());
  expect(items.data.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'user']);
});

const notFoundBody = (id: unknown) => ({
  error: {
    message: `Previous response with id '${id}' not found.`,
    type: 'invalid_request_error',
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  },
});

test.for(
  ['/v1/responses', '/v1/responses/input_tokens'].flatMap((path) =>
    MODELS.map((model) => [path, model] as const),
  ),
)('%s, %s: unknown, deleted and foreign responses look the same', async ([path, model]) => {
  const own = await create({ model });
  const foreign = await create({ model }, { identity: OTHER });
  await texts[0].fetch(`/v1/responses/${own.id}`, { method: 'DELETE' });
  const sent = [first.requests.length, second.requests.length];
  for (const id of [own.id, foreign.id, 'resp_unknown', 'x'.repeat(600)]) {
    const reply = await send({ model, input: 'hi', previous_response_id: id }, { path });
    expect(reply.status).toBe(400);
    expect(await reply.json()).toEqual(notFoundBody(id));
  }
  expect([first.requests.length, second.requests.length]).toEqual(sent);
});

test.for(MODELS)('%s: a response that goes back to a deleted one says which is missing', async (model) => {
  const one = await create({ model, input: 'secret of one' });
  const two = await create({ model, input: 'two', previous_response_id: one.id });
  const three = await create({ model, input: 'three', previous_response_id: two.id });
  await texts[1].fetch(`/v1/responses/${two.id}`, { method: 'DELETE' });
  for (const to of [model, 'chat']) {
    const reply = await send({ model: to, input: 'four', previous_response_id: three.id });
    expect(reply.status).toBe(400);
    expect(await reply.json()).toEqual(notFoundBody(two.id));
  }
  expect((await get(three.id)).status).toBe(200);
  expect((await get(two.id)).status).toBe(404);
  const reference = { type: 'item_reference', id: Object(two.output)[0].id };
  expect((await send({ model: 'chat', input: [reference] })).status).toBe(404);
  await create({ model: 'chat', input: 'from one', previous_response_id: one.id });
});

test.for(MODELS)('%s: another key cannot read, list, continue or delete a response', async (model) => {
  const { id } = await create({ model });
  for (const [method, subpath] of [
    ['GET', ''],
    ['GET', '/input_items'],
    ['DELETE', ''],
    ['POST', '/cancel'],
  ]) {
    const reply = await texts[0].fetch(`/v1/responses/${id}${subpath}`, {
      method: method ?? '',
      identity: OTHER,
    });
    expect(reply.status).toBe(404);
  }
  expect((await get(id)).status).toBe(200);
});

test('input items are listed in pages, in both orders', async () => {
  const input = Array.from({ length: 5 }, (_, index) => ({ role: 'user', content: `item ${index}` }));
  const { id } = await create({ model: 'chat', input });
  const list = async (query: string) =>
    Object(await (await texts[0].fetch(`/v1/responses/${id}/input_items?${query}`)).json());
  const textsOf = ({ data }: { data: unknown[] }) => data.map((item) => Object(item).content[0].text);
  const page = await list('limit=2');
  expect(page).toMatchObject({ object: 'list', has_more: true, last_id: page.data[1].id });
  expect(textsOf(page)).toEqual(['item 4', 'item 3']);
  const next = await list(`limit=2&after=${page.last_id}`);
  expect(textsOf(next)).toEqual(['item 2', 'item 1']);
  const rest = await list(`order=desc&after=${next.last_id}`);
  expect(rest).toMatchObject({ has_more: false, first_id: rest.last_id });
  expect(textsOf(await list('order=asc&limit=100'))).toEqual(input.map(({ content }) => content));
  expect((await list('limit=0')).error.code).toBe('integer_below_min_value');
  expect((await list('limit=101')).error.code).toBe('integer_above_max_value');
  expect((await list('limit=many')).error.code).toBe('invalid_type');
  expect((await list('order=up')).error.code).toBe('invalid_value');
  expect((await list('after=msg_unknown')).error.param).toBe('after');
});

test('a restart of everything but Redis and the files forgets nothing', async () => {
  const { id } = await create({ model: 'chat', input: `a ${'long '.repeat(4000)} story` });
  const text = await start();
  await create({ model: 'chat', input: 'go on', previous_response_id: id }, { text });
  expect(await reached(second)).toHaveLength(3);
});

test.for(MODELS)(
  '%s: beyond the bound of its key a response is delivered, and says that it is not stored',
  async (model) => {
    configure('conversations: { maxBytesPerKey: 1 }');
    const reply = await send({ model, input: 'hi' });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-gateway-stored')).toBe('false');
    const made = Object(await reply.json());
    expect(made).toMatchObject({ store: false, status: 'completed' });
    expect((await get(made.id)).status).toBe(404);
    const events = await collectSse(await send({ model, input: 'hi', stream: true }));
    const last = events.findLast(({ event }) => event === 'response.completed');
    expect(Object(last?.json).response.store).toBe(false);
    expect(await redis.keys('gateway:store:*')).toEqual([]);
  },
);

test.for(MODELS)(
  '%s: without Redis a response is delivered, and says that it is not stored',
  async (model) => {
    redis.disconnect();
    try {
      const reply = await send({ model, input: 'hi' });
      expect(reply.headers.get('x-gateway-stored')).toBe('false');
      expect(await reply.json()).toMatchObject({ store: false, status: 'completed' });
      const events = await collectSse(await send({ model, input: 'hi', stream: true }));
      const last = events.findLast(({ event }) => event === 'response.completed');
      expect(Object(last?.json).response.store).toBe(false);
    } finally {
      await redis.connect();
    }
  },
);

test.for(
  MODELS.flatMap((model) =>
    (['keys: [key_one]', `models: ["${model.slice(0, 4)}*"]`] as const).map((what) => [model, what] as const),
  ),
)('%s: nothing is stored under neverKept %s', async ([model, what]) => {
  configure(`conversations: { neverKept: { ${what} } }`);
  const reply = await send({ model, input: 'hi' });
  expect(reply.headers.get('x-gateway-stored')).toBe('false');
  expect(reply.headers.get('x-gateway-dropped')).toBe('store');
  const made = Object(await reply.json());
  expect(made.store).toBe(false);
  expect((await get(made.id)).status).toBe(404);
  expect(await redis.keys('gateway:*:resp_*')).toEqual([]);
  const strictly = (body: object) =>
    texts[0].fetch('/v1/responses', {
      body: { model, input: 'hi', ...body },
      headers: { 'x-gateway-strict': 'true' },
    });
  expect((await strictly({})).status).toBe(200);
  const refused = await strictly({ store: true });
  expect(await refused.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: 'store' } });
  if (model === 'responses' || model === 'forgetful')
    expect(JSON.parse(String(simulatorOf(model).requests.at(-1)?.body)).store).toBe(false);
});

test('a team that shares continues what any of its keys has made, and no other does', async () => {
  configure('conversations: { sharingTeams: [search] }');
  const mine = { keyId: 'key_one', team: 'search' };
  const theirs = { keyId: 'key_two', team: 'search' };
  for (const model of MODELS) {
    const { id, output } = await create({ model, input: 'shared' }, { identity: mine });
    await create({ model, input: 'on', previous_response_id: id }, { identity: theirs });
    const input = [
      { type: 'item_reference', id: Object(output)[0].id },
      { role: 'user', content: 'and?' },
    ];
    await create({ model, input }, { identity: theirs });
    expect((await get(id, texts[0], theirs)).status).toBe(200);
    expect((await get(id, texts[0], { keyId: 'key_three', team: 'sales' })).status).toBe(404);
    expect((await get(id, texts[0], { keyId: 'key_three' })).status).toBe(404);
  }
});

test('a conversation beyond the bounds of a chain is refused before any provider is asked', async () => {
  configure('conversations: { maxChainLength: 2 }');
  const one = await create({ model: 'chat' });
  const two = await create({ model: 'chat', previous_response_id: one.id });
  const sent = second.requests.length;
  const reply = await send({ model: 'chat', input: 'hi', previous_response_id: two.id });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({
    error: { code: 'context_length_exceeded', param: 'previous_response_id' },
  });
  expect(second.requests.length).toBe(sent);
});

test.for(MODELS)('%s: the whole conversation is counted', async (model) => {
  const { id } = await create({ model, input: 'one two three four five six seven eight nine ten' });
  const count = async (body: object) => {
    const reply = await send({ model, input: 'hi', ...body }, { path: '/v1/responses/input_tokens' });
    return Object(await reply.json()).input_tokens;
  };
  expect(await count({ previous_response_id: id })).toBeGreaterThan((await count({})) + 8);
});

test('sealed reasoning returns to its maker, and is left out and named elsewhere', async () => {
  const reasoning = { reasoning: { effort: 'low' }, include: ['reasoning.encrypted_content'] };
  const made = await create({ model: 'responses', input: 'one', ...reasoning });
  const [thought] = Object(made.output);
  expect(thought).toMatchObject({ type: 'reasoning', encrypted_content: expect.any(String) });
  for (const model of ['other', 'messages', 'chat']) {
    const reply = await send({ model, input: 'two', previous_response_id: made.id });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-gateway-dropped')).toContain('input[1]');
    expect(String(second.requests.at(-1)?.body)).not.toContain(thought.encrypted_content);
    const next = Object(await reply.json());
    await create({ model: 'responses', input: 'three', previous_response_id: next.id });
    expect(String(first.requests.at(-1)?.body)).toContain(thought.encrypted_content);
  }
});

test.for(MODELS)('%s: a stored response is replayed as a stream, from any event on', async (model) => {
  const { id } = await create({ model });
  const replay = async (query: string) =>
    collectSse(await texts[1].fetch(`/v1/responses/${id}?stream=true${query}`));
  const events = await replay('');
  expect(events[0]?.event).toBe('response.created');
  expect(events.findLast(({ event }) => event === 'response.completed')).toBeDefined();
  const numbers = (await replay('&starting_after=2')).flatMap(
    ({ json }) => Object(json).sequence_number ?? [],
  );
  expect(numbers[0]).toBe(3);
});

test('what a server that stores nothing says of storing is not what its caller is told', async () => {
  const id = 'resp_of_a_server';
  const json = { id, object: 'response', status: 'completed', store: false, output: [] };
  second.script('/v1/responses', { json });
  const made = Object(await (await send({ model: 'forgetful', input: 'hi' })).json());
  expect(made).toEqual({ ...json, store: true });
  expect(await (await get(id)).json()).toEqual(made);
  second.script('/v1/responses', { json: { ...json, id: 'resp_unwanted', store: true } });
  const unwanted = await send({ model: 'forgetful', input: 'hi', store: false });
  expect(Object(await unwanted.json()).store).toBe(true);
  expect((await get('resp_unwanted')).status).toBe(404);
  const deleted = await texts[0].fetch(`/v1/responses/${id}`, { method: 'DELETE' });
  expect(deleted.status).toBe(200);
  expect(second.requests.map(({ method }) => method)).toEqual(['POST', 'POST']);
});

test('a provider that stores responses and did not store this one is believed', async () => {
  const json = { id: 'resp_z', object: 'response', status: 'completed', store: false, output: [] };
  first.script('/v1/responses', { json });
  expect(await (await send({ model: 'responses', input: 'hi' })).json()).toEqual(json);
  expect((await get('resp_z')).status).toBe(404);
});

test('without a place for large parts small responses are stored, and a large one says that it is not', async () => {
  const folder = await temporaryFolder();
  const text = await startText({ redis, partsDir: folder.path, configuration: configuration() });
  try {
    const large = { model: 'chat', input: 'long '.repeat(4000) };
    const kept = await create(large, { text });
    await folder.close();
    expect((await create({ model: 'chat' }, { text })).store).toBe(true);
    const reply = await send({ ...large, input: 'other '.repeat(4000) }, { text });
    expect(reply.headers.get('x-gateway-stored')).toBe('false');
    const made = Object(await reply.json());
    expect(made).toMatchObject({ status: 'completed', store: false });
    expect((await get(made.id, text)).status).toBe(404);
    const next = await send({ model: 'chat', input: 'hi', previous_response_id: kept.id }, { text });
    expect(next.status).toBe(503);
    expect(next.headers.get('retry-after')).toBe('1');
  } finally {
    await text.close();
  }
});

test('a failed response is not continued, and nothing is promised of it', async () => {
  const events = await collectSse(
    await send({ model: 'chat', input: '[[simulate cut-after=2]] tell me a long story', stream: true }),
  );
  const last = events.findLast(({ event }) => event === 'response.failed');
  const { id, store } = Object(last?.json).response;
  expect(store).toBe(false);
  const reply = await send({ model: 'chat', input: 'hi', previous_response_id: id });
  expect(await reply.json()).toEqual(notFoundBody(id));
});
