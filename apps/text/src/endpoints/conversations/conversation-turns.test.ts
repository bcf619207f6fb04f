import { createSpanContents } from '@gateway/model-service/tracing/content/span-contents';
import { createSampler } from '@gateway/service-kit/tracing/sampler';
import { createTracing } from '@gateway/service-kit/tracing/tracing';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../../testing/start-stack.ts';
import { answerLine } from '../batches/answer-line.ts';

/** Responses that go on from a conversation, whatever protocol their channel speaks. */

let stack: Stack;
let client: OpenAI;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first, second) => `
channels:
  native: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [responses] }
  messages: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [chat] }
  reserve: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [chat] }
conversations: { neverKept: { keys: [key_never], models: [secret] }, sharingTeams: [sharing], maxChainBytes: 100000 }
models:
  secret: { kind: text, routes: [{ channel: chat }] }
  to-native: { kind: text, routes: [{ channel: native }] }
  to-messages: { kind: text, routes: [{ channel: messages }] }
  to-chat: { kind: text, routes: [{ channel: chat }] }
  to-both: { kind: text, routes: [{ channel: native, priority: 0 }, { channel: reserve, priority: 1 }] }
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
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const MODELS = ['to-native', 'to-messages', 'to-chat'] as const;
const PATHS = {
  'to-native': '/v1/responses',
  'to-messages': '/v1/messages',
  'to-chat': '/v1/chat/completions',
} as const;

const userMessage = (content: string) => ({ type: 'message' as const, role: 'user' as const, content });

const respond = async (
  model: string,
  input: string,
  { conversation, stream }: { readonly conversation: string; readonly stream: boolean },
): Promise<OpenAI.Responses.Response> => {
  const body = { model, input, conversation };
  if (!stream) return client.responses.create(body);
  const events = client.responses.stream({ ...body, stream });
  const seen: unknown[] = [];
  events.on('event', (event) => {
    if ('response' in event) seen.push(event.response.conversation);
  });
  const response = await events.finalResponse();
  expect(seen.length).toBeGreaterThan(1);
  for (const shown of seen) expect(shown).toEqual({ id: conversation });
  return response;
};

const rolesOf = async (id: string): Promise<unknown[]> => {
  const list = await client.conversations.items.list(id, { order: 'asc' });
  return list.data.map((item) => ('role' in item ? item.role : item.type));
};

/** The texts of a request, whatever protocol it is of. */
const textsOf = (request: { text(): string }): string[] => {
  const { input, messages } = Object(JSON.parse(request.text()));
  return (input ?? messages).flatMap(({ content }: { content: unknown }) =>
    Array.isArray(content) ? content.map(({ text }) => text) : content,
  );
};

test.for(MODELS.flatMap((model) => [true, false].map((stream) => [model, stream] as const)))(
  '%s, stream %s: a conversation is continued, and gets the items of each turn',
  async ([model, stream]) => {
    const { id } = await client.conversations.create({ items: [userMessage('My name is Ada.')] });
    const how = { conversation: id, stream };
    const first = await respond(model, 'one', how);
    expect(first.conversation).toEqual({ id });
    const second = await respond(model, 'two', how);
    const sent = stack.first.requests.map(textsOf);
    expect(sent).toEqual([
      ['My name is Ada.', 'one'],
      ['My name is Ada.', 'one', first.output_text, 'two'],
    ]);
    for (const request of stack.first.requests)
      expect(JSON.parse(request.text())).not.toHaveProperty('conversation');
    expect(await rolesOf(id)).toEqual(['user', 'user', 'assistant', 'user', 'assistant']);

    const read = await client.responses.retrieve(second.id);
    expect(read).toMatchObject({ conversation: { id }, output_text: second.output_text });
    await client.conversations.delete(id);
    expect((await client.responses.retrieve(second.id)).output_text).toBe(second.output_text);
  },
);

test('a conversation goes on with another model, and at another channel where its own fails', async () => {
  const { id } = await client.conversations.create({});
  for (const model of MODELS) await respond(model, `asking ${model}`, { conversation: id, stream: false });
  stack.first.script('/v1/responses', { status: 500 });
  const last = await client.responses.create({ model: 'to-both', input: 'and?', conversation: { id } });
  expect(last.conversation).toEqual({ id });
  const sent = textsOf(await stack.second.nextRequest());
  expect(sent.filter((_, index) => index % 2 === 0)).toEqual([
    ...MODELS.map((model) => `asking ${model}`),
    'and?',
  ]);
});

test.for(MODELS)('%s: tools are called and answered within a conversation', async (model) => {
  const tools = [
    { type: 'function' as const, name: 'get_weather', description: 'weather', parameters: {}, strict: false },
  ];
  const { id } = await client.conversations.create();
  const base = { model, tools, conversation: id };
  const called = await client.responses.create({ ...base, input: 'Please use the tool get_weather' });
  const call = called.output.find((item) => item.type === 'function_call');
  const answered = await client.responses.create({
    ...base,
    input: [{ type: 'function_call_output', call_id: call?.call_id ?? '', output: 'It rains.' }],
  });
  expect(answered.output_text).toContain('It rains.');
  expect(await rolesOf(id)).toEqual(['user', 'function_call', 'function_call_output', 'assistant']);
});

test.for(MODELS)('%s: a conversation has one head', async (model) => {
  const { id } = await client.conversations.create();
  const resume = Promise.withResolvers<void>();
  stack.first.script(PATHS[model], { stallAfter: 0, resume: resume.promise });
  const first = respond(model, 'one', { conversation: id, stream: true });
  await stack.first.nextRequest();
  const locked = {
    status: 400,
    error: {
      message: 'Another process is currently operating on this conversation. Please retry in a few seconds.',
      type: 'invalid_request_error',
      param: 'conversation',
      code: 'conversation_locked',
    },
  };
  const how = { conversation: id, stream: false };
  await expect(respond(model, 'two', how)).rejects.toMatchObject(locked);
  await expect(client.conversations.items.create(id, { items: [userMessage('x')] })).rejects.toMatchObject(
    locked,
  );
  expect((await client.conversations.update(id, { metadata: { a: 'b' } })).metadata).toEqual({ a: 'b' });
  resume.resolve();
  await first;
  await respond(model, 'two', how);
  expect(await rolesOf(id)).toEqual(['user', 'assistant', 'user', 'assistant']);
});

test.for(MODELS)('%s: what fails or breaks off adds nothing, and frees the conversation', async (model) => {
  const { id } = await client.conversations.create();
  // Behind the first output, before the end.
  const within = model === 'to-chat' ? 3 : 6;
  stack.first.script(PATHS[model], { status: 400 });
  await expect(respond(model, 'one', { conversation: id, stream: false })).rejects.toMatchObject({
    status: 400,
  });
  stack.first.script(PATHS[model], { cutAfter: within });
  await stack.text
    .fetch('/v1/responses', { body: { model, input: 'one', stream: true, conversation: id } })
    .then((reply) => reply.text());
  expect(await rolesOf(id)).toEqual([]);
  const leaving = new AbortController();
  stack.first.script(PATHS[model], { stallAfter: within });
  const left = await stack.text.fetch('/v1/responses', {
    body: { model, input: 'one', stream: true, conversation: id },
    signal: leaving.signal,
  });
  await left.body?.getReader().read();
  leaving.abort();
  await waitFor(async () => {
    const next = await stack.text.fetch('/v1/responses', { body: { model, input: 'two', conversation: id } });
    return next.status === 200;
  });
  expect(await rolesOf(id)).toEqual(['user', 'assistant']);
});

test.for(MODELS)('%s: a response that is not stored is in its conversation all the same', async (model) => {
  const { id } = await client.conversations.create();
  const response = await client.responses.create({ model, input: 'one', store: false, conversation: id });
  await expect(client.responses.retrieve(response.id)).rejects.toMatchObject({ status: 404 });
  expect(await rolesOf(id)).toEqual(['user', 'assistant']);
});

test.for(MODELS)(
  '%s: an unknown conversation and another key’s are a 404, and nothing is sent',
  async (model) => {
    const { id } = await client.conversations.create();
    for (const path of ['/v1/responses', '/v1/responses/input_tokens'])
      for (const unknown of [id, 'conv_unknown', 'x'.repeat(600)]) {
        const reply = await stack.text.fetch(path, {
          body: { model, input: 'hi', conversation: unknown },
          identity: { keyId: 'key_two' },
        });
        expect(reply.status).toBe(404);
        expect(await reply.json()).toEqual({
          error: {
            message: `Conversation with id '${unknown}' not found.`,
            type: 'invalid_request_error',
            param: 'conversation',
            code: null,
          },
        });
      }
    expect(stack.first.requests).toEqual([]);
  },
);

test.for(MODELS)('%s: tokens are counted with the conversation', async (model) => {
  const { id } = await client.conversations.create({ items: [userMessage('a long beginning '.repeat(50))] });
  const count = async (body: object) => {
    const reply = await stack.text.fetch('/v1/responses/input_tokens', {
      body: { model, input: 'hi', ...body },
    });
    expect(reply.status).toBe(200);
    return Number(Object(await reply.json()).input_tokens);
  };
  expect(await count({ conversation: id })).toBeGreaterThan((await count({})) + 100);
  expect(await rolesOf(id)).toEqual(['user']);
});

test.for(MODELS)('%s: limits are held against the whole conversation', async (model) => {
  const { id } = await client.conversations.create({ items: [userMessage('x'.repeat(20_000))] });
  const accounts = [{ owner: `key_of_${model}`, limits: { tokensPerMinute: 5000 }, budget: null }];
  const body = { model, input: 'hi', max_output_tokens: 100 };
  const send = async (rest: object) =>
    (await stack.text.fetch('/v1/responses', { body: { ...body, ...rest }, identity: { accounts } })).status;
  expect(await send({ conversation: id })).toBe(429);
  expect(stack.first.requests).toEqual([]);
  expect(await send({})).toBe(200);
  await respond(model, 'the lock is free', { conversation: id, stream: false });
});

test('an earlier response does not go with a conversation', async () => {
  const { id } = await client.conversations.create();
  const reply = await stack.text.fetch('/v1/responses', {
    body: { model: 'to-native', input: 'hi', conversation: id, previous_response_id: 'resp_1' },
  });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: 'mutually_exclusive_parameters' } });
  expect(stack.first.requests).toEqual([]);
});

test('a model that stores nothing adds nothing, and a key that stores nothing has no conversations', async () => {
  const { id } = await client.conversations.create();
  const refused = await stack.text.fetch('/v1/responses', {
    body: { model: 'secret', input: 'hi', conversation: id },
  });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    error: { code: 'unsupported_parameter', param: 'conversation' },
  });
  const identity = { keyId: 'key_never' };
  const none = await stack.text.fetch('/v1/conversations', { body: {}, identity });
  expect(none.status).toBe(400);
  expect(await none.json()).toMatchObject({
    error: { message: 'Conversations are not stored for your key.' },
  });
  expect(await rolesOf(id)).toEqual([]);
});

test('a conversation that would become too long for any request is refused, and stays as it was', async () => {
  const { id } = await client.conversations.create({ items: [userMessage('x'.repeat(60_000))] });
  const add = client.conversations.items.create(id, { items: [userMessage('x'.repeat(60_000))] });
  await expect(add).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'items' });
  const answer = await client.responses.create({
    model: 'to-chat',
    input: 'x'.repeat(60_000),
    conversation: id,
  });
  expect(answer.conversation).toBeNull();
  expect(await rolesOf(id)).toEqual(['user']);
});

test('a team that shares goes on with the same conversation', async () => {
  const body = { items: [userMessage('ours')] };
  const one = { keyId: 'key_a', team: 'sharing' };
  const made = Object(await (await stack.text.fetch('/v1/conversations', { body, identity: one })).json());
  const path = `/v1/conversations/${made.id}/items`;
  const statusFor = async (identity: object) => (await stack.text.fetch(path, { identity })).status;
  expect(await statusFor({ keyId: 'key_b', team: 'sharing' })).toBe(200);
  expect(await statusFor({ keyId: 'key_c', team: 'other' })).toBe(404);
  expect(await statusFor({ keyId: 'key_a', team: null })).toBe(404);
});

test('a conversation that was deleted meanwhile does not come back, and the answer names none', async () => {
  const { id } = await client.conversations.create();
  const resume = Promise.withResolvers<void>();
  stack.first.script('/v1/chat/completions', { stallAfter: 0, resume: resume.promise });
  const answer = client.responses.create({ model: 'to-chat', input: 'one', conversation: id });
  await stack.first.nextRequest();
  await client.conversations.delete(id);
  resume.resolve();
  expect((await answer).conversation).toBeNull();
  await expect(client.conversations.retrieve(id)).rejects.toMatchObject({ status: 404 });
});

test.for(
  (['to-messages', 'to-chat'] as const).flatMap((model) =>
    (['conversation', 'previous_response_id'] as const).map((from) => [model, from] as const),
  ),
)('%s: an update of the configuration holds for what goes on from it by its %s', async ([model, from]) => {
  const items = [{ type: 'configuration_update', reasoning: { effort: 'high' } }, userMessage('Hi')];
  const [path, body] =
    from === 'conversation' ? ['/v1/conversations', { items }] : ['/v1/responses', { model, input: items }];
  const { id } = Object(await (await stack.text.fetch(path, { body })).json());
  stack.first.reset();
  const next = { model, input: 'And?', [from]: id };
  const reply = await stack.text.fetch('/v1/responses', { body: next });
  expect(reply.status, await reply.text()).toBe(200);
  const sent = Object((await stack.first.nextRequest()).json());
  expect(sent).toMatchObject(
    model === 'to-chat' ? { reasoning_effort: 'high' } : { output_config: { effort: 'high' } },
  );
});

test('the span of a line whose conversation is taken waits for no content', async () => {
  const { text } = stack;
  const resume = Promise.withResolvers<void>();
  stack.first.script(PATHS['to-native'], { stallAfter: 0, resume: resume.promise });
  const { id } = await client.conversations.create();
  const taken = client.responses.create({ model: 'to-native', input: 'hi', conversation: id });
  await stack.first.nextRequest();
  const sampler = createSampler({ sampler: 'always_on', ratio: 1, callers: 'continue' });
  const trace = createTracing(sampler, () => undefined).continued(undefined, 'consumer');
  const spanContents = createSpanContents(() => text.upstream.configuration, ['span']);
  const body = Buffer.from(JSON.stringify({ model: 'to-native', input: 'hi', conversation: id }));
  const identity = {
    keyId: 'key_one',
    keyName: 'one',
    team: null,
    models: null,
    endpoints: null,
    accounts: [],
  };
  const line = { model: 'to-native', url: '/v1/responses', body, headers: {}, identity };
  const context = { jobId: 'job_line', requestId: 'req_line', signal: new AbortController().signal };
  const answering = answerLine({ ...text.services, spanContents }, line, {
    ...context,
    ...{ trace, consumed: () => undefined, isTriedAgain: () => false },
  });
  await expect(answering).rejects.toMatchObject({ code: 'conversation_locked' });
  expect(await trace.content?.attributes).toBeNull();
  resume.resolve();
  await taken;
});
