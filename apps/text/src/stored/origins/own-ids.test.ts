import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../../testing/start-stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first, second) => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [responses, messages, chat] }
  two: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [responses, messages, chat] }
  chat: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [chat] }
models:
  first: { kind: text, routes: [{ channel: one }] }
  second: { kind: text, routes: [{ channel: two }] }
  both: { kind: text, routes: [{ channel: one, priority: 0 }, { channel: two, priority: 1 }] }
  mixed: { kind: text, routes: [{ channel: one, priority: 0 }, { channel: chat, priority: 1 }] }
  translated: { kind: text, routes: [{ channel: chat }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const OTHER = { keyId: 'key_two' };

const send = (path: string, body: object, identity = {}): Promise<Response> =>
  stack.text.fetch(path, { body, identity });

const create = async (body: object): Promise<Record<string, unknown>> => {
  const reply = await send('/v1/responses', { input: 'hi', ...body });
  expect(reply.status).toBe(200);
  return Object(await reply.json());
};

const itemOf = (made: Record<string, unknown>): string => Object(Object(made.output)[0]).id;

const PATHS = ['/v1/responses', '/v1/responses/input_tokens'] as const;

const notFound = (message: string, param: string) => ({
  error: { message, type: 'invalid_request_error', param, code: null },
});

test.for(PATHS)('%s: an item of a response goes to the channel that made it', async (path) => {
  const id = itemOf(await create({ model: 'second' }));
  const input = [
    { type: 'item_reference', id },
    { role: 'user', content: 'and?' },
  ];
  const reply = await send(path, { model: 'both', input });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('x-gateway-channel')).toBe('two');
  expect(stack.first.requests).toEqual([]);
});

const FORMS = [
  ['a reference', (id: string) => ({ type: 'item_reference', id })],
  ['a reference without a type', (id: string) => ({ id })],
  ['a picture without its bytes', (id: string) => ({ type: 'image_generation_call', id })],
] as const;

test.for(PATHS.flatMap((path) => FORMS.map((form) => [path, ...form] as const)))(
  "%s: %s to another key's item, and to an unknown one, is a 404 that never reaches the provider",
  async ([path, , form]) => {
    const id = itemOf(await create({ model: 'first' }));
    stack.first.reset();
    for (const unknown of [id, 'msg_unknown', 'x'.repeat(600)]) {
      const body = { model: 'first', input: [form(unknown), { role: 'user', content: 'and?' }] };
      const reply = await send(path, body, OTHER);
      expect(reply.status).toBe(404);
      expect(await reply.json()).toEqual(notFound(`Item with id '${unknown}' not found.`, 'input'));
    }
    expect(stack.first.requests).toEqual([]);
  },
);

test('reasoning that is sent back by its id alone is kept from being another key’s, and goes home', async () => {
  const { id } = Object(Object(await create({ model: 'second', reasoning: { effort: 'low' } })).output)[0];
  expect(id).toMatch(/^rs_/);
  const input = [
    { type: 'reasoning', id, summary: [] },
    { role: 'user', content: 'and?' },
  ];
  expect((await send('/v1/responses', { model: 'both', input }, OTHER)).status).toBe(404);
  const own = await send('/v1/responses', { model: 'both', input });
  expect(own.headers.get('x-gateway-channel')).toBe('two');
});

test('reasoning that has its text may go to any channel, but not under another key’s id', async () => {
  const { id } = Object(Object(await create({ model: 'second', reasoning: { effort: 'low' } })).output)[0];
  const content = [{ type: 'reasoning_text', text: 'I think.' }];
  const input = [
    { type: 'reasoning', id, summary: [], content },
    { role: 'user', content: 'and?' },
  ];
  expect((await send('/v1/responses', { model: 'both', input }, OTHER)).status).toBe(404);
  const own = await send('/v1/responses', { model: 'both', input });
  expect(own.headers.get('x-gateway-channel')).toBe('one');
  const unknown = [{ ...input[0], id: 'rs_unknown' }, input[1]];
  expect((await send('/v1/responses', { model: 'both', input: unknown })).status).toBe(200);
});

test('items that are in the request themselves are not checked, and cost no look into Redis', async () => {
  const read = async () => {
    const stats = await stack.redis.info('commandstats');
    return Number(/cmdstat_mget:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const before = await read();
  const input = [
    { role: 'user', content: 'hi' },
    {
      type: 'message',
      id: 'msg_own',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'yes' }],
    },
    { role: 'user', content: 'and?' },
  ];
  const reply = await send('/v1/responses', { model: 'first', input, store: false });
  expect(reply.status).toBe(200);
  expect(await read()).toBe(before);
});

test('items of a stream are found when it has ended', async () => {
  const reply = await send('/v1/responses', { model: 'second', input: 'hi', stream: true });
  const events = await collectSse(reply);
  const last = Object(events.find(({ event }) => event === 'response.completed')?.json).response;
  const next = await send('/v1/responses', {
    model: 'both',
    input: [
      { type: 'item_reference', id: itemOf(last) },
      { role: 'user', content: 'and?' },
    ],
  });
  expect(next.headers.get('x-gateway-channel')).toBe('two');
});

test('items of a background response, and those listed as its input, are found when they have been read', async () => {
  const made = await create({ model: 'second', background: true });
  const read = await waitFor(async () => {
    const shown = Object(await (await stack.text.fetch(`/v1/responses/${made.id}`)).json());
    return shown.status === 'completed' ? shown : undefined;
  });
  const list = Object(await (await stack.text.fetch(`/v1/responses/${made.id}/input_items`)).json());
  for (const id of [itemOf(read), list.data[0].id]) {
    const input = [
      { type: 'item_reference', id },
      { role: 'user', content: 'and?' },
    ];
    expect((await send('/v1/responses', { model: 'both', input })).status).toBe(200);
    expect((await send('/v1/responses', { model: 'both', input }, OTHER)).status).toBe(404);
  }
});

test('a response that is not stored leaves no items', async () => {
  const id = itemOf(await create({ model: 'first', store: false }));
  const input = [{ type: 'item_reference', id }];
  expect((await send('/v1/responses', { model: 'first', input })).status).toBe(404);
});

test.for(PATHS)(
  '%s: a conversation belongs to the key that received it, and to its channel',
  async (path) => {
    const made = await fetch(`${stack.second.url}/v1/conversations`, {
      method: 'POST',
      headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
      body: '{}',
    });
    const { id } = Object(await made.json());
    const refused = await send(path, { model: 'both', input: 'hi', conversation: id });
    expect(refused.status).toBe(404);
    expect(await refused.json()).toEqual(notFound(`Conversation with id '${id}' not found.`, 'conversation'));

    stack.second.script('/v1/responses', {
      json: { id: `resp_${id}`, object: 'response', status: 'completed', output: [], conversation: { id } },
    });
    await create({ model: 'second' });
    for (const conversation of [id, { id }]) {
      const own = await send(path, { model: 'both', input: 'hi', conversation });
      expect(own.status).toBe(200);
      expect(own.headers.get('x-gateway-channel')).toBe('two');
      const foreign = await send(path, { model: 'both', input: 'hi', conversation }, OTHER);
      expect(foreign.status).toBe(404);
      expect(await foreign.json()).toEqual(
        notFound(`Conversation with id '${id}' not found.`, 'conversation'),
      );
    }
  },
);

test('a response that another one is to be compared with is checked as well', async () => {
  const { id } = await create({ model: 'first' });
  const body = { model: 'first', input: 'hi', prompt_cache_options: { comparison_response_id: id } };
  expect((await send('/v1/responses', body)).status).toBe(200);
  expect((await send('/v1/responses', body, OTHER)).status).toBe(404);
});

test.for([
  ['/v1/messages', { max_tokens: 50, messages: [{ role: 'user', content: 'hi' }], container: 'container_1' }],
  [
    '/v1/messages',
    { max_tokens: 50, messages: [{ role: 'user', content: 'hi' }], container: { id: 'container_1' } },
  ],
  ['/v1/responses', { input: 'hi', tools: [{ type: 'code_interpreter', container: 'container_1' }] }],
] as const)('%s: a container that a key received is not lent to another one', async ([path, body]) => {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [], stop_reason: 'end_turn' };
  stack.first.script('/v1/messages', {
    json: {
      ...message,
      stop_sequence: null,
      container: { id: 'container_1' },
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  });
  const plain = { model: 'first', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] };
  expect((await send('/v1/messages', plain)).status).toBe(200);
  const request = { model: 'first', ...body };
  expect((await send(path, request)).status).not.toBe(404);
  expect((await send(path, request, OTHER)).status).toBe(404);
});

test('spoken answers are continued by the key that heard them only', async () => {
  const message = {
    role: 'assistant',
    content: null,
    audio: { id: 'audio_1', data: '', expires_at: 0, transcript: 'yes' },
  };
  stack.first.script('/v1/chat/completions', {
    json: { id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] },
  });
  const messages = [{ role: 'user', content: 'hi' }];
  expect((await send('/v1/chat/completions', { model: 'first', messages })).status).toBe(200);
  const next = {
    model: 'first',
    messages: [
      ...messages,
      { role: 'assistant', audio: { id: 'audio_1' } },
      { role: 'user', content: 'and?' },
    ],
  };
  expect((await send('/v1/chat/completions', next)).status).toBe(200);
  expect((await send('/v1/chat/completions', next, OTHER)).status).toBe(404);
});

test('an id that one key has received cannot be taken over by another', async () => {
  const { id } = await create({ model: 'first' });
  stack.first.script('/v1/responses', { json: { id, object: 'response', status: 'completed', output: [] } });
  expect((await send('/v1/responses', { model: 'first', input: 'hi' }, OTHER)).status).toBe(200);
  expect((await stack.text.fetch(`/v1/responses/${id}`, { identity: OTHER })).status).toBe(404);
  expect((await stack.text.fetch(`/v1/responses/${id}`)).status).toBe(200);
});

test('an id never goes to a provider that did not make it: another channel gets the item itself', async () => {
  const id = itemOf(await create({ model: 'second' }));
  const input = [
    { type: 'item_reference', id },
    { role: 'user', content: 'and?' },
  ];
  stack.second.reset();
  for (const model of ['first', 'mixed', 'translated']) {
    const reply = await send('/v1/responses', { model, input });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-gateway-channel')).not.toBe('two');
  }
  const bodies = [...stack.first.requests, ...stack.second.requests].map(({ body }) => body.toString());
  expect(bodies).toHaveLength(3);
  for (const body of bodies) {
    expect(body).not.toContain(id);
    expect(body).toContain('assistant');
  }
});

test('what one response brings is remembered in one command', async () => {
  await stack.redis.config('SET', 'slowlog-log-slower-than', '0');
  await stack.redis.slowlog('RESET');
  const made = await create({ model: 'first', reasoning: { effort: 'low' } });
  const entries: unknown[] = Object(await stack.redis.slowlog('GET', 100));
  await stack.redis.config('SET', 'slowlog-log-slower-than', '-1');
  // An entry is its number, its time, its duration, and the command.
  const commands = entries.map((entry) => Object(entry)[3].map(String));
  // Redis lists what a script does itself, too.
  const naming = commands
    .filter((command) => command.includes(`gateway:response:${made.id}`))
    .filter(([name]) => !['GET', 'SET'].includes(name));
  expect(naming).toHaveLength(1);
  expect(naming[0]).toContain(`gateway:item:${itemOf(made)}`);
});

test('too many ids are refused, not looked up', async () => {
  const input = Array.from({ length: 5001 }, (_, index) => ({ type: 'item_reference', id: `msg_${index}` }));
  const reply = await send('/v1/responses', { model: 'first', input });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: 'array_above_max_length' } });
});

test('an id of before there were records never goes to a provider that did not make it', async () => {
  const id = itemOf(await create({ model: 'second' }));
  await stack.redis.del(await stack.redis.keys('gateway:store:*'));
  const input = [
    { type: 'item_reference', id },
    { role: 'user', content: 'and?' },
  ];
  for (const model of ['first', 'mixed', 'translated'])
    expect((await send('/v1/responses', { model, input })).status).toBe(404);
  expect(stack.first.requests).toEqual([]);
  expect((await send('/v1/responses', { model: 'both', input })).status).toBe(200);
});
