import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../../../testing/start-stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first, second) => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [messages] }
  two: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [chat] }
  responses: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [responses] }
  local: { provider: vllm, baseUrl: "${first}/v1", apiKey: k, speaks: [messages] }
conversations: { neverKept: { keys: [key_never], models: [unkept-*] } }
models:
  unkept-to-chat: { kind: text, routes: [{ channel: chat }] }
  unkept-to-responses: { kind: text, routes: [{ channel: responses }] }
  unkept-to-local: { kind: text, routes: [{ channel: local }] }
  unkept-native: { kind: text, routes: [{ channel: chat, priority: 0 }, { channel: one, priority: 1 }] }
  claude-first: { kind: text, routes: [{ channel: one }] }
  claude-second: { kind: text, routes: [{ channel: two }] }
  claude-both: { kind: text, routes: [{ channel: one, priority: 0 }, { channel: two, priority: 1 }] }
  claude-mixed: { kind: text, routes: [{ channel: chat, priority: 0 }, { channel: two, priority: 1 }] }
  to-chat: { kind: text, routes: [{ channel: chat }] }
  to-local: { kind: text, routes: [{ channel: local }] }
  to-responses: { kind: text, routes: [{ channel: responses }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const OTHER = { keyId: 'key_two' };
const BETA = { 'anthropic-beta': 'message-threads-2026-08-12' };
const COUNT = '/v1/messages/count_tokens';

const send = async (body: object, { path = '/v1/messages', identity = {} } = {}) => {
  const reply = await stack.text.fetch(path, {
    body: { max_tokens: 100, messages: [{ role: 'user', content: 'hi' }], ...body },
    headers: BETA,
    identity,
  });
  const json: Record<string, unknown> = Object(await reply.json());
  return { status: reply.status, channel: reply.headers.get('x-gateway-channel'), json };
};

const begin = async (model: string): Promise<string> => {
  const { status, json } = await send({ model, thread: { type: 'create' } });
  expect(status).toBe(200);
  return String(json.id);
};

const goOn = (id: string) => ({ thread: { type: 'continue', previous_message_id: id } });

const refusal = (type: string, errorCode: string) => ({
  type: 'error',
  error: { type, details: { error_code: errorCode } },
});

test.for(
  ['unkept-to-chat', 'unkept-to-responses', 'unkept-to-local', 'unkept-native', 'to-chat'].flatMap(
    (model) => [[model, '/v1/messages'] as const, [model, COUNT] as const],
  ),
)(
  '%s, %s: where nothing is kept a thread is refused on every turn, before any request upstream',
  async ([model, path]) => {
    const identity = model === 'to-chat' ? { keyId: 'key_never' } : {};
    for (const turn of [{ thread: { type: 'create' } }, goOn('msg_1')]) {
      const { status, json } = await send({ model, ...turn }, { path, identity });
      expect(status).toBe(400);
      expect(json).toMatchObject(refusal('invalid_request_error', 'thread_unsupported_request'));
    }
    expect(stack.first.requests).toEqual([]);
  },
);

test('a thread goes where the same request without one goes', async () => {
  for (const turn of [{}, { thread: { type: 'create' } }]) {
    const { status, channel } = await send({ model: 'claude-mixed', ...turn });
    expect({ status, channel }).toEqual({ status: 200, channel: 'chat' });
  }
});

test('a thread is continued at the channel that holds it, with its conversation', async () => {
  const first = await begin('claude-second');
  const { status, channel, json } = await send({ model: 'claude-both', ...goOn(first) });
  // The first turn named another model, so this provider refuses the turn; no other provider got it.
  expect({ status, channel }).toEqual({ status: 400, channel: null });
  expect(json).toMatchObject(refusal('invalid_request_error', 'thread_fingerprint_mismatch'));
  expect(stack.first.requests).toEqual([]);

  const next = await send({ model: 'claude-second', ...goOn(first), messages: [] });
  expect(next.status).toBe(200);
  const count = await send({ model: 'claude-second', ...goOn(String(next.json.id)) }, { path: COUNT });
  expect(count.status).toBe(200);
  expect(Number(count.json.input_tokens)).toBeGreaterThan(3);
});

test.for(['/v1/messages', COUNT])(
  "%s: another key's thread, and an unknown one, are a 404 that never reaches the provider",
  async (path) => {
    const id = await begin('claude-first');
    stack.first.reset();
    for (const unknown of [id, 'msg_unknown']) {
      const { status, json } = await send(
        { model: 'claude-first', ...goOn(unknown) },
        { path, identity: OTHER },
      );
      expect(status).toBe(404);
      expect(json).toMatchObject(refusal('not_found_error', 'thread_not_found'));
      expect(json.request_id).toEqual(expect.any(String));
    }
    expect(stack.first.requests).toEqual([]);
  },
);

test.for([
  ['thread_not_found', 404, 'not_found_error'],
  ['thread_already_continued', 400, 'invalid_request_error'],
  ['thread_continue_in_flight', 400, 'invalid_request_error'],
  ['thread_unsupported_request', 400, 'invalid_request_error'],
] as const)('a provider that answers %s gets the whole conversation', async ([error_code, status, type]) => {
  const id = await begin('claude-both');
  stack.first.reset();
  const error = { type, message: 'thread: no', details: { error_code } };
  stack.first.script('/v1/messages', { status, json: { type: 'error', error, request_id: 'req_1' } });
  const next = await send({ model: 'claude-both', ...goOn(id) });
  expect(next).toMatchObject({ status: 200, channel: 'one' });
  const sent = stack.first.requests.map((request) => Object(JSON.parse(request.text())));
  expect(sent.map(({ thread, messages }) => [thread?.type, messages.length])).toEqual([
    ['continue', 1],
    [undefined, 3],
  ]);
  // From then on only the gateway keeps it.
  expect((await send({ model: 'claude-both', ...goOn(String(next.json.id)) })).status).toBe(200);
  expect(stack.second.requests).toEqual([]);
});

test('the error of a provider for a mismatch reaches the caller as it is', async () => {
  const id = await begin('claude-first');
  const error = {
    type: 'invalid_request_error',
    message: 'thread: differing field(s): speed',
    details: { error_code: 'thread_fingerprint_mismatch' },
  };
  stack.first.script('/v1/messages', { status: 400, json: { type: 'error', error, request_id: 'req_1' } });
  const { status, json } = await send({ model: 'claude-first', ...goOn(id), speed: 'fast' });
  expect(status).toBe(400);
  expect(json).toMatchObject({ type: 'error', error });
});

test.for([true, false])('the id of a turn is known before the caller has it (stream: %s)', async (stream) => {
  const client = clientOf();
  const thread = client.beta.messages.thread({ model: 'claude-both', max_tokens: 100 });
  const turn = async (content: string) => {
    const message = { role: 'user' as const, content };
    return stream ? thread.stream(message).finalMessage() : thread.send(message);
  };
  await turn('one');
  await turn('two');
  const sent = stack.first.requests.map((request) => Object(JSON.parse(request.text())));
  expect(sent.map(({ thread: turn }) => turn.type)).toEqual(['create', 'continue']);
  expect(sent[1].messages).toHaveLength(1);
});

const clientOf = (): Anthropic =>
  new Anthropic({
    baseURL: stack.text.url,
    apiKey: 'k',
    maxRetries: 0,
    defaultHeaders: stack.text.identityHeaders(),
  });

test.for([
  ['claude-first', ['create', 'continue']],
  ['to-chat', []],
  ['to-responses', []],
  ['to-local', []],
] as const)("%s: Anthropic's own tool runner does its task", async ([model, turns]) => {
  const calls: unknown[] = [];
  const weather = betaTool({
    name: 'get_weather',
    description: 'The weather of a city.',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    run: (input) => {
      calls.push(input);
      return 'It rains.';
    },
  });
  const final = await clientOf().beta.messages.toolRunner({
    model,
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'Please use the tool get_weather' }],
    tools: [weather],
  });
  expect(calls).toEqual([{ city: expect.any(String) }]);
  expect(JSON.stringify(final.content)).toContain('It rains.');
  const types = stack.first.requests.flatMap(
    (request) => Object(JSON.parse(request.text())).thread?.type ?? [],
  );
  expect(types).toEqual(turns);
});

const user = { role: 'user', content: 'hi' };

test.for([
  ['no messages', { messages: [] }, 'messages: at least one message is required'],
  [
    'a first message of the assistant',
    { messages: [{ role: 'assistant', content: 'no' }, user] },
    'messages: first message must use the "user" role',
  ],
  [
    'a first message of the system',
    { messages: [{ role: 'system', content: 'no' }, user] },
    'messages: first message must use the "user" role',
  ],
] as const)('%s are taken on a continued thread only', async ([, body, message]) => {
  const refused = await send({ model: 'claude-first', ...body });
  expect(refused.status).toBe(400);
  expect(refused.json).toMatchObject({ error: { message } });
  const thread = await begin('claude-first');
  stack.first.script('/v1/messages', { status: 400 });
  const passed = await send({ model: 'claude-first', ...goOn(thread), ...body });
  expect(passed.json).not.toMatchObject({ error: { message } });
  expect(stack.first.scriptsWaiting).toBe(0);
});

test('a compaction block of the assistant may come first', async () => {
  stack.first.script('/v1/messages', { status: 400 });
  const compacted = { role: 'assistant', content: [{ type: 'compaction', content: 'so far' }] };
  await send({ model: 'claude-first', messages: [compacted, user] });
  expect(stack.first.scriptsWaiting).toBe(0);
});

test.for([
  [{ thread: { type: 'fork' } }, /^thread/],
  [{ thread: { type: 'continue' } }, /^thread.*previous_message_id: Field required/],
  [
    {
      output_format: { type: 'json_schema', schema: {} },
      output_config: { format: { type: 'json_schema', schema: {} } },
    },
    /output_format/,
  ],
] as const)('%j is refused before any upstream', async ([body, message]) => {
  const { status, json } = await send({ model: 'claude-first', ...body });
  expect(status).toBe(400);
  expect(Object(json.error).message).toMatch(message);
  expect(stack.first.requests).toEqual([]);
});

test('members that translation does not know pass to a provider of the same protocol', async () => {
  const body = {
    output_format: { type: 'json_schema', schema: { type: 'object' } },
    billing_policy: { type: 'billing_policy', bill_to: 'self' },
    inference_geo: 'us',
    compaction: { type: 'summarize' },
  };
  await send({ model: 'claude-first', ...body });
  expect(JSON.parse((await stack.first.nextRequest()).text())).toMatchObject(body);
});
