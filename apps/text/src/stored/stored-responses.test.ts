import { collectSse } from '@gateway/testkit/collect-sse';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, test } from 'vitest';
import { startText } from '../testing/start-text.ts';
import { MODELS, useConversations } from '../testing/use-conversations.ts';

/** What is stored of responses, for whom, how long, and how they report it, on channels of all protocols. */

const stage = useConversations();
const { configuration, configure, create, get, send, simulatorOf } = stage;

const OTHER = { keyId: 'key_two' };

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
  await stage.texts[0].fetch(`/v1/responses/${own.id}`, { method: 'DELETE' });
  const sent = [stage.first.requests.length, stage.second.requests.length];
  for (const id of [own.id, foreign.id, 'resp_unknown', 'x'.repeat(600)]) {
    const reply = await send({ model, input: 'hi', previous_response_id: id }, { path });
    expect(reply.status).toBe(400);
    expect(await reply.json()).toEqual(notFoundBody(id));
  }
  expect([stage.first.requests.length, stage.second.requests.length]).toEqual(sent);
});

test.for(MODELS)(
  '%s: a response that continues a deleted one names the one that is missing',
  async (model) => {
    const one = await create({ model, input: 'secret of one' });
    const two = await create({ model, input: 'two', previous_response_id: one.id });
    const three = await create({ model, input: 'three', previous_response_id: two.id });
    await stage.texts[1].fetch(`/v1/responses/${two.id}`, { method: 'DELETE' });
    for (const to of [model, 'chat']) {
      const reply = await send({ model: to, input: 'four', previous_response_id: three.id });
      expect(reply.status).toBe(400);
      expect(await reply.json()).toEqual(notFoundBody(two.id));
    }
    expect(Object(await (await get(three.id)).json()).output).toEqual(three.output);
    const items = await stage.texts[0].fetch(`/v1/responses/${three.id}/input_items`);
    expect(Object(await items.json()).data[0].content[0].text).toBe('three');
    expect((await get(two.id)).status).toBe(404);
    const reference = { type: 'item_reference', id: Object(two.output)[0].id };
    expect((await send({ model: 'chat', input: [reference] })).status).toBe(404);
    await create({ model: 'chat', input: 'from one', previous_response_id: one.id });
  },
);

test.for(MODELS)('%s: another key cannot read, list, continue or delete a response', async (model) => {
  const { id } = await create({ model });
  for (const [method, subpath] of [
    ['GET', ''],
    ['GET', '/input_items'],
    ['DELETE', ''],
    ['POST', '/cancel'],
  ]) {
    const reply = await stage.texts[0].fetch(`/v1/responses/${id}${subpath}`, {
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
    Object(await (await stage.texts[0].fetch(`/v1/responses/${id}/input_items?${query}`)).json());
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

test.for(MODELS)(
  '%s: beyond the bound of its key a response is delivered, and marked as not stored',
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
    expect(await stage.redis.keys('gateway:store:*')).toEqual([]);
  },
);

test.for(MODELS)('%s: without Redis a response is delivered, and marked as not stored', async (model) => {
  stage.redis.disconnect();
  try {
    const reply = await send({ model, input: 'hi' });
    expect(reply.headers.get('x-gateway-stored')).toBe('false');
    expect(await reply.json()).toMatchObject({ store: false, status: 'completed' });
    const events = await collectSse(await send({ model, input: 'hi', stream: true }));
    const last = events.findLast(({ event }) => event === 'response.completed');
    expect(Object(last?.json).response.store).toBe(false);
  } finally {
    await stage.redis.connect();
  }
});

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
  expect(await stage.redis.keys('gateway:*:resp_*')).toEqual([]);
  const strictly = (body: object) =>
    stage.texts[0].fetch('/v1/responses', {
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
    expect((await get(id, stage.texts[0], theirs)).status).toBe(200);
    expect((await get(id, stage.texts[0], { keyId: 'key_three', team: 'sales' })).status).toBe(404);
    expect((await get(id, stage.texts[0], { keyId: 'key_three' })).status).toBe(404);
  }
});

test('a conversation beyond the bounds of a chain is refused before any provider is called', async () => {
  configure('conversations: { maxChainLength: 2 }');
  const one = await create({ model: 'chat' });
  const two = await create({ model: 'chat', previous_response_id: one.id });
  const sent = stage.second.requests.length;
  const reply = await send({ model: 'chat', input: 'hi', previous_response_id: two.id });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({
    error: { code: 'context_length_exceeded', param: 'previous_response_id' },
  });
  expect(stage.second.requests.length).toBe(sent);
});

test.for(MODELS)(
  '%s: items named by their ids have a bound together, however often each is named',
  async (model) => {
    configure('conversations: { maxChainBytes: 100000 }');
    const text = stage.texts[0];
    const { id } = await create({ model, input: [{ role: 'user', content: 'x'.repeat(30_000) }] });
    const [item] = Object(await (await text.fetch(`/v1/responses/${id}/input_items`)).json()).data;
    const references = (count: number) =>
      Array.from({ length: count }, () => ({ type: 'item_reference', id: item.id }));
    await create({ model: 'chat', input: references(3) });
    const sent = stage.second.requests.length;
    const reply = await send({ model: 'chat', input: references(4) });
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({ error: { code: 'context_length_exceeded', param: 'input' } });
    const conversation = await send({ items: references(4) }, { path: '/v1/conversations' });
    expect(await conversation.json()).toMatchObject({ error: { code: 'context_length_exceeded' } });
    expect(stage.second.requests.length).toBe(sent);
  },
);

test('what is named by its id is estimated with what names it', async () => {
  const text = stage.texts[0];
  const { id } = await create({ model: 'chat', input: [{ role: 'user', content: 'x'.repeat(30_000) }] });
  const [item] = Object(await (await text.fetch(`/v1/responses/${id}/input_items`)).json()).data;
  const message = { role: 'assistant', content: 'hi' };
  const json = {
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
  };
  stage.second.script('/v1/chat/completions', { json });
  await create({ model: 'chat', input: [{ type: 'item_reference', id: item.id }] });
  expect(text.lines.at(-1)).toMatchObject({ usageEstimated: true });
  expect(text.lines.at(-1)?.inputTokens).toBeGreaterThan(5000);
});

test.for(MODELS)('%s: a stored response is replayed as a stream, from any event on', async (model) => {
  const { id } = await create({ model });
  const replay = async (query: string) =>
    collectSse(await stage.texts[1].fetch(`/v1/responses/${id}?stream=true${query}`));
  const events = await replay('');
  expect(events[0]?.event).toBe('response.created');
  expect(events.findLast(({ event }) => event === 'response.completed')).toBeDefined();
  const numbers = (await replay('&starting_after=2')).flatMap(
    ({ json }) => Object(json).sequence_number ?? [],
  );
  expect(numbers[0]).toBe(3);
});

test.for(
  ['-1', 'abc', '1e3', '1.5', '', '9'.repeat(30)].flatMap((after) =>
    (['forgetful', 'chat'] as const).map((model) => [model, after] as const),
  ),
)('%s: a replay after event "%s" is refused', async ([model, after]) => {
  const { id } = await create({ model });
  const reply = await stage.texts[0].fetch(`/v1/responses/${id}?stream=true&starting_after=${after}`);
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: 'invalid_type', param: 'starting_after' } });
});

test.for(MODELS)('%s: a streamed response whose text has line separators is stored', async (model) => {
  const input = 'one\u2028two\u2029three';
  const events = await collectSse(await send({ model, input, stream: true }));
  const last = events.findLast(({ event }) => event === 'response.completed');
  const { id, output, store } = Object(last?.json).response;
  expect(JSON.stringify(output)).toContain(input);
  expect(store).toBe(true);
  expect(await (await get(id)).json()).toMatchObject({ id, output });
  await create({ model, previous_response_id: id });
});

test('the caller of a server that stores nothing gets the store of the gateway, not that of the server', async () => {
  const id = 'resp_of_a_server';
  const json = { id, object: 'response', status: 'completed', store: false, output: [] };
  stage.second.script('/v1/responses', { json });
  const made = Object(await (await send({ model: 'forgetful', input: 'hi' })).json());
  expect(made).toEqual({ ...json, store: true });
  expect(await (await get(id)).json()).toEqual(made);
  stage.second.script('/v1/responses', { json: { ...json, id: 'resp_unwanted', store: true } });
  const unwanted = await send({ model: 'forgetful', input: 'hi', store: false });
  expect(Object(await unwanted.json()).store).toBe(true);
  expect((await get('resp_unwanted')).status).toBe(404);
  const deleted = await stage.texts[0].fetch(`/v1/responses/${id}`, { method: 'DELETE' });
  expect(deleted.status).toBe(200);
  expect(stage.second.requests.map(({ method }) => method)).toEqual(['POST', 'POST']);
});

test.for([true, false])(
  'a large response is stored with all of its members, each number as it was written (store: %s)',
  async (store) => {
    const id = `resp_large_${store}`;
    const members = `"id":"${id}","object":"response","status":"completed","store":${store}`;
    const output = '"output":[{"type":"custom","id":"it_1","big":12345678901234567890}]';
    const others = [
      '"metadata":{"a":"b"}',
      `"instructions":"${'long '.repeat(8000)}"`,
      '"seed":98765432109876543210',
    ];
    stage.second.script('/v1/responses', { body: `{${[members, ...others, output].join()}}` });
    const reply = await send({ model: 'forgetful', input: 'hi', store });
    expect(reply.status).toBe(200);
    await reply.text();
    const stored = await get(id);
    expect(stored.status).toBe(store ? 200 : 404);
    const text = await stored.text();
    const missing = [...others, '"big":12345678901234567890'].filter((part) => !text.includes(part));
    expect(missing).toHaveLength(store ? 0 : 4);
  },
);

test('a provider that stores responses and did not store this one is believed', async () => {
  const json = { id: 'resp_z', object: 'response', status: 'completed', store: false, output: [] };
  stage.first.script('/v1/responses', { json });
  expect(await (await send({ model: 'responses', input: 'hi' })).json()).toEqual(json);
  expect((await get('resp_z')).status).toBe(404);
});

test('without storage for large parts small responses are stored, and a large one is marked as not stored', async () => {
  const folder = await temporaryFolder();
  const text = await startText({ redis: stage.redis, partsDir: folder.path, configuration: configuration() });
  try {
    const large = { model: 'chat', input: 'long '.repeat(4000) };
    const stored = await create(large, { text });
    await folder.close();
    expect((await create({ model: 'chat' }, { text })).store).toBe(true);
    const reply = await send({ ...large, input: 'other '.repeat(4000) }, { text });
    expect(reply.headers.get('x-gateway-stored')).toBe('false');
    const made = Object(await reply.json());
    expect(made).toMatchObject({ status: 'completed', store: false });
    expect((await get(made.id, text)).status).toBe(404);
    const next = await send({ model: 'chat', input: 'hi', previous_response_id: stored.id }, { text });
    expect(next.status).toBe(503);
    expect(next.headers.get('retry-after')).toBe('1');
  } finally {
    await text.close();
  }
});

test('a failed response is kept with what had come, and is not continued', async () => {
  const events = await collectSse(
    await send({ model: 'chat', input: '[[simulate cut-after=2]] tell me a long story', stream: true }),
  );
  const last = events.findLast(({ event }) => event === 'response.failed');
  const { id, store } = Object(last?.json).response;
  expect(store).toBe(true);
  expect(await (await get(id)).json()).toMatchObject({ id, status: 'failed' });
  const reply = await send({ model: 'chat', input: 'hi', previous_response_id: id });
  expect(reply.status).toBe(400);
});
