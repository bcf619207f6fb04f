import { collectSse, readSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../../testing/start-stack.ts';
import { completeStored, findOwned, listInput, removeStored, shownStored } from './read-stored.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first, second) => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k }
  two: { provider: simulator, baseUrl: "${second}", apiKey: k }
models:
  first: { kind: text, routes: [{ channel: one }] }
  second: { kind: text, routes: [{ channel: two }] }
  both: { kind: text, routes: [{ channel: one, priority: 0 }, { channel: two, priority: 1 }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const create = async (body: object, identity = {}): Promise<Record<string, unknown>> => {
  const reply = await stack.text.fetch('/v1/responses', { body: { input: 'hi', ...body }, identity });
  expect(reply.status).toBe(200);
  return Object(await reply.json());
};

test('a response is read, its input listed and it is deleted where it was made', async () => {
  const made = await create({ model: 'second' });
  const read = await stack.text.fetch(`/v1/responses/${made.id}?include[]=reasoning.encrypted_content`);
  expect(await read.json()).toEqual(made);
  expect(read.headers.get('x-gateway-channel')).toBe('two');
  const { url } = await stack.second.nextRequest(({ method }) => method === 'GET');
  expect(url).toBe(`/v1/responses/${made.id}?include[]=reasoning.encrypted_content`);

  const items = await stack.text.fetch(`/v1/responses/${made.id}/input_items?limit=5`);
  expect(await items.json()).toMatchObject({ object: 'list', data: [{ role: 'user' }] });

  const deleted = await stack.text.fetch(`/v1/responses/${made.id}`, { method: 'DELETE' });
  expect(await deleted.json()).toEqual({ id: made.id, object: 'response', deleted: true });
  expect((await stack.text.fetch(`/v1/responses/${made.id}`)).status).toBe(404);
  expect(await stack.redis.exists(`gateway:response:${made.id}`)).toBe(0);
});

test('a response that is deleted while it is read is not found: it is not shown, or completed, without its items', async () => {
  const made = await create({ model: 'first' });
  const { services } = stack.text;
  const id = String(made.id);
  const stored = await findOwned(services, 'key_one', id);
  if (stored === null) throw new Error('it is not stored');
  await stack.text.fetch(`/v1/responses/${made.id}`, { method: 'DELETE' });
  const gone = { code: 'object_not_found', message: `Response with id '${id}' not found.` };
  await expect(shownStored(services, stored)).rejects.toMatchObject(gone);
  await expect(listInput(services, stored, {})).rejects.toMatchObject(gone);
  await expect(completeStored(services, stored, { ...made, status: 'completed' })).rejects.toMatchObject(
    gone,
  );
  await removeStored(services, stored);
  expect(await findOwned(services, 'key_one', id)).toBeNull();
});

test.for([
  ['GET', ''],
  ['DELETE', ''],
  ['POST', '/cancel'],
  ['GET', '/input_items'],
] as const)("%s %s of another key's response answers as for an unknown one", async ([method, subpath]) => {
  const made = await create({ model: 'first' });
  for (const id of [made.id, 'resp_unknown', 'x'.repeat(600)]) {
    const reply = await stack.text.fetch(`/v1/responses/${id}${subpath}`, {
      method,
      identity: { keyId: 'key_two' },
    });
    expect(reply.status).toBe(404);
    expect(await reply.json()).toEqual({
      error: {
        message: `Response with id '${id}' not found.`,
        type: 'invalid_request_error',
        param: 'id',
        code: null,
      },
    });
  }
});

test('the id of a stream is known before the caller has it, so that it can be cancelled from the first event on', async () => {
  const reply = await stack.text.fetch('/v1/responses', {
    body: { model: 'second', input: '[[simulate background=60000]]', stream: true, background: true },
  });
  for await (const { json } of readSse(reply)) {
    const { id } = Object(json).response;
    const cancelled = await stack.text.fetch(`/v1/responses/${id}/cancel`, { method: 'POST' });
    expect(await cancelled.json()).toMatchObject({ id, status: 'cancelled' });
    break;
  }
});

test('a stored response is replayed as a stream', async () => {
  const made = await create({ model: 'first', background: true, stream: false });
  await waitFor(async () => {
    const read = await stack.text.fetch(`/v1/responses/${made.id}`);
    return Object(await read.json()).status === 'completed';
  });
  const replay = await stack.text.fetch(`/v1/responses/${made.id}?stream=true`);
  const events = await collectSse(replay);
  expect(events[0]?.event).toBe('response.created');
  expect(events.map(({ event }) => event)).toContain('response.completed');
});

test('a continued response goes to the channel that made the one before', async () => {
  const made = await create({ model: 'second' });
  const next = await stack.text.fetch('/v1/responses', {
    body: { model: 'both', input: 'and?', previous_response_id: made.id },
  });
  expect(next.status).toBe(200);
  expect(next.headers.get('x-gateway-channel')).toBe('two');
});

test.for([
  ['resp_unknown', {}],
  [null, { keyId: 'key_two' }],
] as const)(
  'an unknown or foreign previous response is refused without saying which',
  async ([unknown, identity]) => {
    const id = unknown ?? (await create({ model: 'first' })).id;
    const body = { model: 'first', input: 'hi', previous_response_id: id };
    const reply = await stack.text.fetch('/v1/responses', { body, identity });
    expect(reply.status).toBe(400);
    expect(await reply.json()).toEqual({
      error: {
        message: `Previous response with id '${id}' not found.`,
        type: 'invalid_request_error',
        param: 'previous_response_id',
        code: 'previous_response_not_found',
      },
    });
  },
);

test('a response that is not stored cannot be found', async () => {
  const made = await create({ model: 'first', store: false });
  expect((await stack.text.fetch(`/v1/responses/${made.id}`)).status).toBe(404);
  expect(await stack.redis.exists(`gateway:response:${made.id}`)).toBe(0);
});

test.for([true, false])('no caller learns an id that cannot be found yet (stream: %s)', async (stream) => {
  const admin = stack.redis.duplicate();
  await admin.client('PAUSE', 60_000, 'WRITE');
  let answered = false;
  const reply = stack.text.fetch('/v1/responses', { body: { model: 'first', input: 'hi', stream } });
  void reply.then(() => {
    answered = true;
  });
  await (await stack.first.nextRequest()).closed;
  // Whatever was on its way to the caller has arrived when this later answer has.
  await stack.text.fetch('/healthz');
  expect(answered).toBe(false);
  await admin.client('UNPAUSE');
  expect((await reply).status).toBe(200);
  admin.disconnect();
});

test('a response is forgotten after its time', async () => {
  const made = await create({ model: 'first' });
  expect(await stack.redis.ttl(`gateway:response:${made.id}`)).toBeGreaterThan(0);
});

test('without Redis an answer still goes out, and a read of what was stored gets a 503 with Retry-After', async () => {
  const { id } = await create({ model: 'first' });
  stack.redis.disconnect();
  try {
    const made = await create({ model: 'first' });
    const line = await waitFor(() => stack.text.lines.find(({ responseId }) => responseId === made.id));
    expect(line).toMatchObject({ outcome: 'ok', responseKept: false });
    const read = await stack.text.fetch(`/v1/responses/${id}`);
    expect(read.status).toBe(503);
    expect(read.headers.get('retry-after')).toBe('1');
  } finally {
    await stack.redis.connect();
  }
});
