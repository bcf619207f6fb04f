import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stack, startStack } from '../../testing/start-stack.ts';

let stack: Stack;
let client: OpenAI;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first) => `
channels: { one: { provider: simulator, baseUrl: "${first}", apiKey: k } }
models: { first: { kind: text, routes: [{ channel: one }] } }
`,
  });
  client = new OpenAI({
    baseURL: `${stack.text.url}/v1`,
    apiKey: 'k',
    maxRetries: 0,
    defaultHeaders: stack.text.identityHeaders(),
  });
});
afterAll(() => stack[Symbol.asyncDispose]());

const userMessage = (content: string) => ({ type: 'message' as const, role: 'user' as const, content });
const textsOf = (items: readonly unknown[]) =>
  items.map((item) => Object(item).content?.[0]?.text ?? Object(item).output);

test('a conversation is made, read, given other metadata and deleted', async () => {
  const made = await client.conversations.create({ metadata: { topic: 'ships' } });
  expect(made).toEqual({
    id: expect.stringMatching(/^conv_[0-9a-f]{32}$/),
    object: 'conversation',
    created_at: expect.any(Number),
    metadata: { topic: 'ships' },
  });
  expect(await client.conversations.retrieve(made.id)).toEqual(made);
  const updated = await client.conversations.update(made.id, { metadata: { topic: 'planes' } });
  expect(updated).toEqual({ ...made, metadata: { topic: 'planes' } });
  expect((await client.conversations.update(made.id, { metadata: null })).metadata).toEqual({});
  expect(await client.conversations.retrieve(made.id)).toEqual({ ...made, metadata: {} });
  expect(await client.conversations.delete(made.id)).toEqual({
    id: made.id,
    object: 'conversation.deleted',
    deleted: true,
  });
  await expect(client.conversations.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
  await expect(client.conversations.delete(made.id)).rejects.toMatchObject({ status: 404 });
});

test('a conversation is made by a request without a body, and by an empty one', async () => {
  const made = await client.conversations.create();
  expect(made).toMatchObject({ object: 'conversation', metadata: {} });
  expect(await client.conversations.create({})).toMatchObject({ metadata: {} });
  for (const path of ['', '/items']) {
    const reply = await stack.text.fetch(`/v1/conversations/${made.id}${path}`, { method: 'POST' });
    expect(await reply.json()).toMatchObject({
      error: { code: 'missing_required_parameter', param: path === '' ? 'metadata' : 'items' },
    });
  }
});

test('items come back with ids, a type, a status and content in parts', async () => {
  const call = {
    type: 'function_call' as const,
    call_id: 'c1',
    name: 'look',
    arguments: '{"n":12345678901234567890}',
  };
  const { id } = await client.conversations.create({ items: [userMessage('hello')] });
  const added = await client.conversations.items.create(id, {
    items: [
      { role: 'assistant', content: 'hi' },
      call,
      { type: 'function_call_output', call_id: 'c1', output: 'found' },
      { type: 'reasoning', id: 'rs_own', summary: [] },
    ],
  });
  expect(added).toMatchObject({
    object: 'list',
    has_more: false,
    first_id: added.data[0]?.id,
    last_id: 'rs_own',
  });
  expect(added.data).toEqual([
    {
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'hi', annotations: [], logprobs: [] }],
    },
    { ...call, id: expect.stringMatching(/^fc_/), status: 'completed' },
    {
      type: 'function_call_output',
      call_id: 'c1',
      output: 'found',
      id: expect.stringMatching(/^fco_/),
      status: 'completed',
    },
    { type: 'reasoning', id: 'rs_own', summary: [] },
  ]);
  const list = await client.conversations.items.list(id, { order: 'asc' });
  expect(list.data.slice(1)).toEqual(added.data);
  expect(list.data[0]).toMatchObject({ role: 'user', content: [{ type: 'input_text', text: 'hello' }] });
  const one = added.data[1]?.id ?? '';
  expect(await client.conversations.items.retrieve(one, { conversation_id: id })).toEqual(added.data[1]);
});

test('items are listed in pages, newest first unless the query sets another order', async () => {
  const { id } = await client.conversations.create({ items: ['a', 'b', 'c'].map(userMessage) });
  await client.conversations.items.create(id, { items: ['d', 'e'].map(userMessage) });
  const all: unknown[] = [];
  for await (const item of client.conversations.items.list(id, { limit: 2 })) all.push(item);
  expect(textsOf(all)).toEqual(['e', 'd', 'c', 'b', 'a']);
  const page = await client.conversations.items.list(id, { limit: 2, order: 'asc' });
  expect({ texts: textsOf(page.data), more: page.has_more }).toEqual({ texts: ['a', 'b'], more: true });
  for (const [query, code] of [
    ['limit=0', 'integer_below_min_value'],
    ['limit=101', 'integer_above_max_value'],
    ['order=up', 'invalid_value'],
  ]) {
    const refused = await stack.text.fetch(`/v1/conversations/${id}/items?${query}`);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code } });
  }
  // From the beginning it would be read without end.
  const lost = await stack.text.fetch(`/v1/conversations/${id}/items?after=msg_deleted`);
  expect(lost.status).toBe(404);
  expect(await lost.json()).toMatchObject({ error: { param: 'after' } });
});

test('a deleted item is gone, and those after it keep their ids', async () => {
  const { id } = await client.conversations.create({ items: ['a', 'b', 'c'].map(userMessage) });
  const { data } = await client.conversations.items.list(id, { order: 'asc' });
  const [first, second, third] = data;
  const left = await client.conversations.items.delete(second?.id ?? '', { conversation_id: id });
  expect(left).toMatchObject({ id, object: 'conversation' });
  expect((await client.conversations.items.list(id, { order: 'asc' })).data).toEqual([first, third]);
  for (const gone of [second?.id ?? '', 'msg_unknown']) {
    const named = { conversation_id: id };
    await expect(client.conversations.items.retrieve(gone, named)).rejects.toMatchObject({ status: 404 });
    await expect(client.conversations.items.delete(gone, named)).rejects.toMatchObject({ status: 404 });
  }
  const copied = await client.conversations.create({
    items: [{ type: 'item_reference', id: third?.id ?? '' }],
  });
  expect((await client.conversations.items.list(copied.id)).data).toEqual([third]);
});

test('what is large is kept, and gone with its conversation', async () => {
  const large = 'x'.repeat(300_000);
  const { id } = await client.conversations.create({ items: [userMessage(large)] });
  expect(textsOf((await client.conversations.items.list(id)).data)).toEqual([large]);
  await client.conversations.delete(id);
  await expect(client.conversations.items.list(id)).rejects.toMatchObject({ status: 404 });
});

test('items that are added at the same time are all kept', async () => {
  const { id } = await client.conversations.create();
  const adding = ['a', 'b', 'c', 'd'].map(async (text) => {
    for (;;) {
      const added = await stack.text.fetch(`/v1/conversations/${id}/items`, {
        body: { items: [userMessage(text)] },
      });
      if (added.status === 200) return;
      expect(await added.json()).toMatchObject({
        error: { code: 'conversation_locked', param: 'conversation' },
      });
    }
  });
  const renaming = client.conversations.update(id, { metadata: { topic: 'ships' } });
  await Promise.all([...adding, renaming]);
  expect(textsOf((await client.conversations.items.list(id)).data).toSorted()).toEqual(['a', 'b', 'c', 'd']);
  expect((await client.conversations.retrieve(id)).metadata).toEqual({ topic: 'ships' });
});

test("another key's conversation does not exist, whatever is done to it", async () => {
  const { id } = await client.conversations.create({ items: [userMessage('mine')] });
  const { data } = await client.conversations.items.list(id);
  const item = data[0]?.id ?? '';
  for (const unknown of [id, 'conv_unknown', 'x'.repeat(600)])
    for (const [method, path, body] of [
      ['GET', ''],
      ['POST', '', { metadata: {} }],
      ['DELETE', ''],
      ['GET', '/items'],
      ['POST', '/items', { items: [userMessage('not mine')] }],
      ['GET', `/items/${item}`],
      ['DELETE', `/items/${item}`],
    ] as const) {
      const reply = await stack.text.fetch(`/v1/conversations/${unknown}${path}`, {
        method,
        ...(body !== undefined && { body }),
        identity: { keyId: 'key_two' },
      });
      expect(reply.status).toBe(404);
      expect(await reply.json()).toEqual({
        error: {
          message: `Conversation with id '${unknown}' not found.`,
          type: 'invalid_request_error',
          param: 'id',
          code: null,
        },
      });
    }
  const stolen = await stack.text.fetch('/v1/conversations', {
    body: { items: [{ type: 'item_reference', id: item }] },
    identity: { keyId: 'key_two' },
  });
  expect(stolen.status).toBe(404);
  expect(await stolen.json()).toMatchObject({
    error: { message: `Item with id '${item}' not found.`, param: 'items' },
  });
});

test.for([
  ['', { items: Array.from({ length: 21 }, () => userMessage('x')) }, 'items', 'array_above_max_length'],
  ['', { items: [{ type: 'message', role: 'user' }] }, 'items[0].content', 'missing_required_parameter'],
  ['', { items: [{ role: 'nobody', content: 'x' }] }, 'items[0].role', 'invalid_value'],
  ['', { metadata: { number: 1 } }, 'metadata.number', 'invalid_type'],
  ['', { metadata: { ['k'.repeat(65)]: 'v' } }, 'metadata', 'string_above_max_length'],
  ['', { metadata: { key: 'v'.repeat(513) } }, 'metadata.key', 'string_above_max_length'],
  [
    '',
    { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, ''])) },
    'metadata',
    'invalid_value',
  ],
  ['/conv_any', {}, 'metadata', 'missing_required_parameter'],
  ['/conv_any/items', {}, 'items', 'missing_required_parameter'],
  ['/conv_any/items', { items: [] }, 'items', 'array_below_min_length'],
] as const)('POST /v1/conversations%s refuses %j', async ([path, body, param, code]) => {
  const reply = await stack.text.fetch(`/v1/conversations${path}`, { body });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { type: 'invalid_request_error', param, code } });
});

test('metadata may be named like what every object has', async () => {
  const metadata = { constructor: 'a', toString: 'b' };
  const made = await stack.text.fetch('/v1/conversations', { body: { metadata } });
  const { id } = Object(await made.json());
  const read = await stack.text.fetch(`/v1/conversations/${id}`);
  expect(await read.json()).toMatchObject({ metadata });
});

test('without Redis a conversation gets a 503 with Retry-After', async () => {
  const { id } = await client.conversations.create();
  stack.redis.disconnect();
  try {
    const read = await stack.text.fetch(`/v1/conversations/${id}`);
    expect({ status: read.status, after: read.headers.get('retry-after') }).toEqual({
      status: 503,
      after: '1',
    });
    expect((await stack.text.fetch('/v1/conversations', { body: {} })).status).toBe(503);
  } finally {
    await stack.redis.connect();
  }
});
