import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../../../testing/start-stack.ts';

/** Threads that the gateway keeps itself, for every channel. */

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    maxBodyBytes: 100_000,
    configuration: (first, second) => `
channels:
  native: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [messages] }
  reserve: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [chat] }
  responses: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [responses] }
  local: { provider: vllm, baseUrl: "${first}/v1", apiKey: k, speaks: [messages] }
models:
  to-native: { kind: text, routes: [{ channel: native }] }
  to-both: { kind: text, routes: [{ channel: native, priority: 0 }, { channel: reserve, priority: 1 }] }
  to-chat: { kind: text, routes: [{ channel: chat }] }
  to-responses: { kind: text, routes: [{ channel: responses }] }
  to-local: { kind: text, routes: [{ channel: local }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const HELD = ['to-chat', 'to-responses', 'to-local'] as const;
const UPSTREAM_PATHS = {
  'to-chat': '/v1/chat/completions',
  'to-responses': '/v1/responses',
  'to-local': '/v1/messages',
} as const;
const BETA = 'message-threads-2026-08-12';
const COUNT = '/v1/messages/count_tokens';

interface SendOptions {
  readonly path?: string;
  readonly identity?: object;
  readonly betas?: string;
}

const post = (body: object, { path = '/v1/messages', identity = {}, betas = BETA }: SendOptions = {}) =>
  stack.text.fetch(path, {
    body: { max_tokens: 100, messages: [user('hi')], ...body },
    headers: betas === '' ? {} : { 'anthropic-beta': betas },
    identity,
  });

const send = async (body: object, options: SendOptions = {}) => {
  const reply = await post(body, options);
  const json: Record<string, unknown> = Object(await reply.json());
  return { status: reply.status, channel: reply.headers.get('x-gateway-channel'), json };
};

const user = (content: unknown) => ({ role: 'user', content });
const CREATE = { thread: { type: 'create' } };
const goOn = (id: unknown) => ({ thread: { type: 'continue', previous_message_id: id } });

const begin = async (model: string, body: object = {}): Promise<string> => {
  const { status, json } = await send({ model, ...CREATE, ...body });
  expect(status).toBe(200);
  return String(json.id);
};

const code = (errorCode: string) => ({ type: 'error', error: { details: { error_code: errorCode } } });
const bodyOf = (request: { text(): string }): Record<string, unknown> => Object(JSON.parse(request.text()));

/** Ids are new in every run: the first one becomes `id1` and so on. */
function withoutRandomIds(requests: readonly { text(): string }[]): unknown {
  const names = new Map<string, string>();
  const text = JSON.stringify(requests.map(bodyOf));
  const nameOf = (id: string) => names.get(id) ?? names.set(id, `id${names.size + 1}`).get(id) ?? '';
  return JSON.parse(text.replaceAll(/\b(msg|toolu|call|fc|rs)_[0-9A-Za-z]+/g, nameOf));
}

test.for(HELD.flatMap((model) => [true, false].map((stream) => [model, stream] as const)))(
  '%s, stream %s: the provider gets the request that the same turn is without a thread',
  async ([model, stream]) => {
    const fixed = { model, stream, system: 'Be brief.', metadata: { user_id: 'u' } };
    const answerTo = async (body: object, betas?: string): Promise<{ id: unknown; content: unknown }> => {
      const reply = await post({ ...fixed, ...body }, betas === undefined ? {} : { betas });
      expect(reply.status).toBe(200);
      if (!stream) return Object(await reply.json());
      const events = (await collectSse(reply)).map(({ json }) => Object(json));
      const text = events.map(({ delta }) => delta?.text ?? '').join('');
      return { id: events[0].message.id, content: [{ type: 'text', text, citations: null }] };
    };
    const first = await answerTo({ messages: [user('one')] }, '');
    await answerTo(
      { messages: [user('one'), { role: 'assistant', content: first.content }, user('two')] },
      '',
    );
    const expected = withoutRandomIds(stack.first.requests);
    stack.first.reset();
    const { id } = await answerTo({ messages: [user('one')], ...CREATE });
    const { system: _, ...turn } = fixed;
    const { status } = await post({ ...turn, messages: [user('two')], ...goOn(id) });
    expect(status).toBe(200);
    expect(withoutRandomIds(stack.first.requests)).toEqual(expected);
    for (const { headers } of stack.first.requests) expect(headers['anthropic-beta']).toBeUndefined();
  },
);

const clientOf = (): Anthropic =>
  new Anthropic({
    baseURL: stack.text.url,
    apiKey: 'k',
    maxRetries: 0,
    defaultHeaders: stack.text.identityHeaders(),
  });

test.for([...HELD, 'to-native'].flatMap((model) => [true, false].map((stream) => [model, stream] as const)))(
  "%s, stream %s: Anthropic's tool runner has its task done with threads as without",
  async ([model, stream]) => {
    const run = async (thread: boolean) => {
      stack.first.reset();
      const weather = betaTool({
        name: 'get_weather',
        description: 'The weather of a city.',
        inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        run: () => 'It rains.',
      });
      const runner = clientOf().beta.messages.toolRunner({
        model,
        max_tokens: 1000,
        messages: [{ role: 'user', content: 'Please use the tool get_weather' }],
        tools: [weather],
        system: 'Be brief.',
        stream,
        ...(!thread && { thread }),
      });
      expect(JSON.stringify((await runner.runUntilDone()).content)).toContain('It rains.');
      return stack.first.requests;
    };
    const plain = withoutRandomIds(await run(false));
    const threaded = await run(true);
    if (model !== 'to-native') expect(withoutRandomIds(threaded)).toEqual(plain);
    else
      expect(threaded.map((request) => bodyOf(request).thread)).toMatchObject([
        { type: 'create' },
        { type: 'continue' },
      ]);
  },
);

test.for(HELD)('%s: a reply is continued once, also where two try at the same time', async (model) => {
  const id = await begin(model);
  const resume = Promise.withResolvers<void>();
  stack.first.script(UPSTREAM_PATHS[model], { stallAfter: 0, resume: resume.promise });
  const first = send({ model, ...goOn(id) });
  await waitFor(() => stack.first.requests.length === 2);
  const second = await send({ model, ...goOn(id) });
  expect(second).toMatchObject({ status: 400, json: code('thread_continue_in_flight') });
  resume.resolve();
  expect((await first).status).toBe(200);
  expect(await send({ model, ...goOn(id) })).toMatchObject({
    status: 400,
    json: code('thread_already_continued'),
  });
  expect(stack.first.requests).toHaveLength(2);
});

test.for(HELD)('%s: a turn that failed, and one that broke off, may be repeated', async (model) => {
  const id = await begin(model);
  stack.first.script(UPSTREAM_PATHS[model], { status: 400 });
  expect((await send({ model, ...goOn(id) })).status).toBe(400);
  stack.first.script(UPSTREAM_PATHS[model], { text: 'one two three four', cutAfter: 5 });
  const broken = await collectSse(await post({ model, stream: true, ...goOn(id) }));
  expect(broken.at(-1)?.event).toBe('error');
  expect((await send({ model, ...goOn(id) })).status).toBe(200);
});

test.for(HELD)('%s: a caller who leaves frees the reply that was being continued', async (model) => {
  const id = await begin(model);
  stack.first.script(UPSTREAM_PATHS[model], { text: 'one two three four', stallAfter: 5 });
  const leaving = new AbortController();
  const reply = await stack.text.fetch('/v1/messages', {
    body: { model, max_tokens: 100, messages: [user('and?')], stream: true, ...goOn(id) },
    headers: { 'anthropic-beta': BETA },
    signal: leaving.signal,
  });
  await reply.body?.getReader().read();
  leaving.abort();
  await waitFor(async () => (await send({ model, ...goOn(id) })).status === 200);
});

test.for(HELD)('%s: a reply that refuses is not kept, and the one before stays', async (model) => {
  const id = await begin(model);
  const refused = await send({ model, ...goOn(id), messages: [user('[[simulate refusal]]')] });
  expect(refused.json.stop_reason).toBe('refusal');
  expect(await send({ model, ...goOn(refused.json.id) })).toMatchObject({
    status: 404,
    json: code('thread_not_found'),
  });
  expect((await send({ model, ...goOn(id) })).status).toBe(200);
});

test.for([
  ['system', { system: 'Be verbose.' }],
  ['tools', { tools: [{ name: 'other', input_schema: { type: 'object' } }] }],
  ['thinking', { thinking: { type: 'adaptive' } }],
  ['tool_choice', { tool_choice: { type: 'auto' } }],
  ['output_config', { output_config: { effort: 'low' } }],
  ['output_config', { output_format: { type: 'json_schema', schema: { type: 'object' } } }],
  ['cache_control', { cache_control: { type: 'ephemeral' } }],
  ['model', { model: 'to-responses' }],
  ['anthropic-beta', {}, `${BETA},other-2026-01-01`],
] as const)('another %s than the thread has is named, and nothing is sent', async ([name, body, betas]) => {
  const id = await begin('to-chat', { system: 'Be brief.' });
  stack.first.reset();
  const turn = { model: 'to-chat', ...goOn(id), ...body };
  const { status, json } = await send(turn, betas === undefined ? {} : { betas });
  expect(status).toBe(400);
  expect(json).toMatchObject(code('thread_fingerprint_mismatch'));
  expect(Object(json.error).message).toContain(`differing field(s): ${name}.`);
  expect(stack.first.requests).toEqual([]);
  // A caller who sees the mistake can go on.
  expect((await send({ model: 'to-chat', ...goOn(id) })).status).toBe(200);
});

test('members that may differ from turn to turn do, and another notation of the same value is the same', async () => {
  const tools = [{ name: 'look_up', input_schema: { type: 'object', properties: {} } }];
  const schema = { type: 'object', properties: {} };
  const format = { type: 'json_schema', schema };
  const id = await begin('to-responses', { system: 'Be brief.', tools, output_format: format });
  const turn = {
    model: 'to-responses',
    ...goOn(id),
    max_tokens: 200,
    stream: true,
    temperature: 0.5,
    system: 'Be brief.',
    tools: [{ input_schema: { properties: {}, type: 'object' }, name: 'look_up' }],
    output_config: { format: { schema, type: 'json_schema' } },
  };
  expect((await post(turn, { betas: ` ${BETA} ,${BETA}` })).status).toBe(200);
});

test.for(HELD)('%s: an unknown thread and another key’s are a 404, and nothing is sent', async (model) => {
  const id = await begin(model);
  stack.first.reset();
  for (const path of ['/v1/messages', COUNT])
    for (const unknown of [id, 'msg_unknown', 'x'.repeat(600), 'a\0b']) {
      const { status, json } = await send(
        { model, ...goOn(unknown) },
        { path, identity: { keyId: 'key_two' } },
      );
      expect(status).toBe(404);
      expect(json).toMatchObject(code('thread_not_found'));
    }
  expect(stack.first.requests).toEqual([]);
});

test.for(HELD)('%s: results that answer no call are refused by the whole conversation', async (model) => {
  const tools = [{ name: 'get_weather', description: 'weather', input_schema: { type: 'object' } }];
  const first = await send({
    model,
    ...CREATE,
    tools,
    messages: [user('Please use the tool get_weather')],
  });
  expect(first.json.stop_reason).toBe('tool_use');
  const result = (id: string) => [{ type: 'tool_result', tool_use_id: id, content: 'It rains.' }];
  const call = Object(first.json.content).find(({ type }: { type: string }) => type === 'tool_use').id;
  const unanswered = await send({ model, ...goOn(first.json.id), messages: [user('and?')] });
  expect(unanswered.status).toBe(400);
  expect(Object(unanswered.json.error).message).toMatch(/^messages\.1: `tool_use` ids were found without/);
  const stray = await send({ model, ...goOn(first.json.id), messages: [user(result('toolu_none'))] });
  expect(stray.status).toBe(400);
  const answered = await send({ model, ...goOn(first.json.id), messages: [user(result(call))] });
  expect(JSON.stringify(answered.json.content)).toContain('It rains.');
});

test.for(HELD)('%s: tokens of a turn are counted with its thread, which stays as it is', async (model) => {
  const id = await begin(model, { messages: [user('a long beginning '.repeat(50))] });
  const count = async (body: object): Promise<number> => {
    const { status, json } = await send({ model, ...body }, { path: COUNT });
    expect(status).toBe(200);
    return Number(json.input_tokens);
  };
  const alone = await count({});
  expect(await count(CREATE)).toBe(alone);
  expect(await count(goOn(id))).toBeGreaterThan(alone + 100);
  expect((await send({ model, ...goOn(id) })).status).toBe(200);
});

test('an upstream that does not report usage is booked with the whole conversation', async () => {
  const id = await begin('to-local', { messages: [user('x'.repeat(8000))] });
  const message = {
    id: 'msg_unsaid',
    type: 'message',
    role: 'assistant',
    content: [],
    stop_reason: 'end_turn',
  };
  stack.first.script('/v1/messages', { json: message });
  await send({ model: 'to-local', ...goOn(id) });
  const line = await waitFor(() => stack.text.lines.findLast(({ model }) => model === 'to-local'));
  expect(line).toMatchObject({ thread: 'continue', usageEstimated: true });
  expect(Number(line.inputTokens)).toBeGreaterThan(2000);
});

test.for([...HELD, 'to-native'])('%s: limits are held against the whole conversation', async (model) => {
  const id = await begin(model, { messages: [user('x'.repeat(20_000))] });
  stack.first.reset();
  const accounts = [{ owner: `key_of_${model}`, limits: { tokensPerMinute: 5000 }, budget: null }];
  const refused = await send({ model, ...goOn(id) }, { identity: { accounts } });
  expect(refused).toMatchObject({ status: 429, json: { error: { type: 'rate_limit_error' } } });
  expect(stack.first.requests).toEqual([]);
  expect((await send({ model }, { identity: { accounts } })).status).toBe(200);
  // What was refused was not begun.
  expect((await send({ model, ...goOn(id) })).status).toBe(200);
});

test('a conversation that has become too long is refused', async () => {
  const id = await begin('to-chat', { messages: [user('x'.repeat(60_000))] });
  const { status, json } = await send({
    model: 'to-chat',
    ...goOn(id),
    messages: [user('x'.repeat(60_000))],
  });
  expect(status).toBe(413);
  expect(Object(json.error).message).toContain('thread');
});

test('where the channel that keeps a thread cannot serve, another one gets the whole conversation', async () => {
  const id = await begin('to-both', { messages: [user('one')], system: 'Be brief.' });
  expect(bodyOf(await stack.first.nextRequest()).thread).toEqual({ type: 'create' });
  stack.first.reset();
  stack.first.script('/v1/messages', { status: 529 });
  const next = await send({ model: 'to-both', messages: [user('two')], ...goOn(id) });
  expect(next).toMatchObject({ status: 200, channel: 'reserve' });
  expect(bodyOf(await stack.first.nextRequest())).toMatchObject({ messages: [user('two')], ...goOn(id) });
  const taken = await stack.second.nextRequest();
  expect(bodyOf(taken)).toMatchObject({
    system: 'Be brief.',
    messages: [user('one'), { role: 'assistant' }, user('two')],
  });
  expect(bodyOf(taken)).not.toHaveProperty('thread');
  expect(taken.headers['anthropic-beta']).toBeUndefined();

  // Its provider has not seen this turn, so that it gets the whole conversation too from now on.
  stack.first.reset();
  const last = await send({ model: 'to-both', messages: [user('three')], ...goOn(next.json.id) });
  expect(last).toMatchObject({ status: 200, channel: 'native' });
  expect(bodyOf(await stack.first.nextRequest()).messages).toHaveLength(5);
});

test('marks for the prompt cache never exceed what a request may have: the newest stay', async () => {
  const marked = (text: string) => user([{ type: 'text', text, cache_control: { type: 'ephemeral' } }]);
  const messages = [marked('one'), { role: 'assistant', content: 'a' }, marked('two')];
  const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }];
  const first = await begin('to-local', { messages, system });
  const second = await send({ model: 'to-local', ...goOn(first), messages: [marked('three')] });
  stack.first.reset();
  await send({ model: 'to-local', ...goOn(second.json.id), messages: [marked('four')] });
  const sent = bodyOf(await stack.first.nextRequest());
  const texts = [
    Object(sent.system)[0],
    ...Object(sent.messages).flatMap(({ content }: { content: unknown }) => content),
  ];
  expect(texts.filter(({ cache_control: mark }) => mark).map(({ text }) => text)).toEqual([
    'Be brief.',
    'two',
    'three',
    'four',
  ]);
});

test('an answer whose conversation cannot be kept still goes out, and the next turn gets an error', async () => {
  const kept = await begin('to-chat');
  stack.redis.disconnect();
  let lost: string;
  try {
    lost = await begin('to-chat');
    const line = stack.text.lines.findLast(({ thread }) => thread === 'create');
    expect(line).toMatchObject({ outcome: 'ok', threadKept: false });
    const unknown = await send({ model: 'to-chat', ...goOn(kept) });
    expect(unknown).toMatchObject({ status: 529, json: { error: { type: 'overloaded_error' } } });
  } finally {
    await stack.redis.connect();
  }
  expect(await send({ model: 'to-chat', ...goOn(lost) })).toMatchObject({
    status: 404,
    json: code('thread_not_found'),
  });
  expect((await send({ model: 'to-chat', ...goOn(kept) })).status).toBe(200);
});

test('turns are counted by what became of them', async () => {
  const page = await stack.text.metrics.registry.metrics();
  for (const turn of ['create', 'continue'])
    for (const result of ['kept', 'not_kept'])
      expect(page).toMatch(
        new RegExp(
          `gateway_thread_turns_total\\{(?=[^}]*turn="${turn}")(?=[^}]*result="${result}")[^}]*\\} [1-9]`,
        ),
      );
});
