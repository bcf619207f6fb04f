import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unrecordedRecords } from '@gateway/metering/usage/unrecorded-usage';
import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../testing/start-stack.ts';

let stack: Stack;
let startedAtMs = 0;
let keyId = '';
let keys = 0;

beforeAll(async () => {
  startedAtMs = Date.now();
  stack = await startStack({
    configuration: (first, second) => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [chat, completions], cooldown: off }
  two: { provider: vllm, baseUrl: "${second}/v1", apiKey: k, cooldown: off }
  chat: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [chat] }
  openai: { provider: openai, baseUrl: "${first}/v1", apiKey: k }
models:
  code: { kind: text, price: { inputPerMTok: 2, outputPerMTok: 10 }, routes: [{ channel: one, model: qwen-coder }] }
  both: { kind: text, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  mixed: { kind: text, routes: [{ channel: chat }, { channel: two, priority: 1 }] }
  talks: { kind: text, routes: [{ channel: chat }] }
  gpt-3.5-turbo-instruct: { kind: text, routes: [{ channel: openai, speaks: [completions] }] }
contentLog: { rules: [{ models: [code] }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  keys += 1;
  keyId = `key_${keys}`;
  stack.first.reset();
  stack.second.reset();
});

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const client = (accounts: Parameters<Stack['text']['identityHeaders']>[0] = {}) =>
  new OpenAI({
    ...{ apiKey: 'sk-unused', baseURL: `${stack.text.url}/v1`, maxRetries: 0 },
    defaultHeaders: { ...stack.text.identityHeaders({ keyId, ...accounts }), 'x-gateway-uncounted': '1' },
  });
const recorded = () =>
  waitFor(async () => {
    const range = { fromMs: startedAtMs, toMs: Date.now() + 60_000 };
    return (await unrecordedRecords(stack.redis, range)).find((one) => one.keyId === keyId);
  });
const post = (body: object) => stack.text.fetch('/v1/completions', { body, identity: { keyId } });

test('the official client gets a completion, and its tokens are charged', async () => {
  const reply = await client().completions.create({
    model: 'code',
    prompt: 'def add(a, b):',
    max_tokens: 50,
  });
  expect(reply.choices).toMatchObject([
    { index: 0, text: 'You said: def add(a, b):', finish_reason: 'stop' },
  ]);
  expect(reply.usage).toEqual({ prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 });
  expect((await stack.first.nextRequest()).json()).toEqual({
    ...{ model: 'qwen-coder', prompt: 'def add(a, b):', max_tokens: 50 },
  });
  expect(await recorded()).toMatchObject({
    ...{ endpoint: 'completions', model: 'code', channel: 'one', outcome: 'ok', estimated: false },
    ...{ consumption: { inputTokens: 4, outputTokens: 6 }, costMicroUsd: 68 },
  });
});

test.for([false, true])(
  'a stream is charged by the usage that is asked for, whoever asks: %s',
  async (own) => {
    const stream = await client().completions.create({
      ...{ model: 'code', prompt: 'def add(a, b):', max_tokens: 50, stream: true },
      ...(own && { stream_options: { include_usage: true } }),
    });
    const chunks = await collect(stream);
    expect(chunks.map(({ choices: [choice] }) => choice?.text ?? '').join('')).toBe(
      'You said: def add(a, b):',
    );
    expect(chunks.at(-1)?.choices).toHaveLength(own ? 0 : 1);
    expect(chunks.some(({ usage }) => (usage ?? null) !== null)).toBe(own);
    const sent = Object((await stack.first.nextRequest()).json());
    expect(sent.stream_options).toEqual({ include_usage: true });
    expect(await recorded()).toMatchObject({ estimated: false, costMicroUsd: 68 });
  },
);

test('a server that refuses to be asked for usage is asked again without, and its stream is estimated', async () => {
  const refusal = { message: 'Unknown parameter: stream_options', type: 'invalid_request_error' };
  stack.first.script({ status: 400, json: { error: { ...refusal, param: null, code: null } } });
  const stream = await client().completions.create({ model: 'code', prompt: 'one two', stream: true });
  const chunks = await collect(stream);
  expect(chunks.length).toBeGreaterThan(1);
  expect(stack.first.requests.map((one) => 'stream_options' in Object(one.json()))).toEqual([true, false]);
  expect(await recorded()).toMatchObject({ estimated: true, consumption: { outputTokens: 5 } });
});

test('where a server tells no usage, tokens count as such, and what it repeats of a prompt as no output', async () => {
  const text = 'def add(a, b):';
  const answer = {
    id: 'cmpl-1',
    object: 'text_completion',
    choices: [{ index: 0, text: `${text} return 7` }],
  };
  stack.first.script({ json: answer });
  await post({ model: 'code', prompt: text, echo: true });
  expect(await recorded()).toMatchObject({ estimated: true, consumption: { outputTokens: 3 } });
  keyId = `key_of_tokens_${keys}`;
  stack.first.script({ json: { ...answer, choices: [{ index: 0, text: ' return 7' }] } });
  await post({ model: 'code', prompt: [[100_001, 100_002, 100_003], [100_004]] });
  expect(await recorded()).toMatchObject({
    estimated: true,
    consumption: { inputTokens: 4, outputTokens: 3 },
  });
});

test('several prompts, tokens, a suffix and members of other makers go out and come back as they are', async () => {
  const text =
    '{ "prompt": [[1, 2], [3]],  "model":"both", "suffix": "x", "n": 2, "min_p": 0.1, "max_tokens": 9 }';
  const reply = await stack.text.fetch('/v1/completions', {
    ...{ body: text, headers: { 'content-type': 'application/json' }, identity: { keyId } },
  });
  const { choices, usage } = Object(await reply.json());
  expect(choices.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2, 3]);
  expect(usage.prompt_tokens).toBe(3);
  expect((await stack.first.nextRequest()).body.toString()).toBe(text);
});

test.for([
  ['is down', { status: 503, json: { error: { message: 'down', type: 'server_error' } } }],
  ['answers without an answer', { json: { id: 'cmpl-1', object: 'text_completion', choices: null } }],
] as const)('another channel answers where one %s', async ([, answer]) => {
  for (const stream of [false, true]) {
    stack.first.script(answer);
    const reply = await post({ model: 'both', prompt: 'hello', stream });
    expect([reply.status, reply.headers.get('x-gateway-channel')]).toEqual([200, 'two']);
    expect(await reply.text()).toContain('text_completion');
  }
});

test('a route without bare prompts is passed over, and a model without any such route is refused', async () => {
  const reply = await post({ model: 'mixed', prompt: 'hello' });
  expect(reply.headers.get('x-gateway-channel')).toBe('two');
  const refused = await post({ model: 'talks', prompt: 'hello' });
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { error: { code: 'unsupported_model', param: 'model', message: /not available through this endpoint/ } },
  ]);
  const chat = { model: 'gpt-3.5-turbo-instruct', messages: [{ role: 'user', content: 'Hi' }] };
  expect((await stack.text.fetch('/v1/chat/completions', { body: chat })).status).toBe(400);
  expect((await post({ model: 'gpt-3.5-turbo-instruct', prompt: 'hello' })).status).toBe(200);
});

test('a stream that breaks ends with an error, and what came of it is charged', async () => {
  stack.first.script({ tokens: 40, cutAfter: 8 });
  const stream = await client().completions.create({
    ...{ model: 'code', prompt: 'one two', max_tokens: 100, stream: true },
  });
  await expect(collect(stream)).rejects.toThrow();
  const record = await recorded();
  expect(record).toMatchObject({ outcome: 'cut', estimated: true });
  expect(record.consumption.outputTokens).toBeGreaterThan(3);
});

test('a caller who leaves ends the request at its server at once', async () => {
  const gate = createGate();
  stack.first.script({ gate: gate.opened });
  const leaving = new AbortController();
  const sent = client().completions.create({ model: 'code', prompt: 'one' }, { signal: leaving.signal });
  const request = await stack.first.nextRequest();
  leaving.abort();
  await expect(sent).rejects.toThrow();
  expect(await request.closed).toBe('aborted');
  gate.open();
  expect(await recorded()).toMatchObject({ outcome: 'left' });
});

test('what a request can write at most is reserved: answers to each prompt, of as many tokens as it allows', async () => {
  const limits = { tokensPerMinute: 1000 };
  const own = client({ accounts: [{ owner: keyId, limits, budget: null }] });
  const order = { model: 'code', prompt: ['one', 'two'], n: 2 };
  await expect(own.completions.create({ ...order, max_tokens: 250 })).rejects.toMatchObject({ status: 429 });
  expect(stack.first.requests).toEqual([]);
  expect((await own.completions.create({ ...order, max_tokens: 200 })).choices).toHaveLength(4);
});

const logged = async (): Promise<string> => {
  const folder = join(stack.text.dataDir, 'content-spool');
  const names = await readdir(folder).catch(() => []);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')));
  return texts.join('');
};

test.for([false, true])('the content log has the prompt and the completion, streamed: %s', async (stream) => {
  await (await post({ model: 'code', prompt: `logged ${stream}`, stream, max_tokens: 50 })).text();
  const line = await waitFor(async () =>
    (await logged()).split('\n').find((one) => one.includes(`"logged ${stream}"`)),
  );
  expect(JSON.parse(line)).toMatchObject({
    ...{ endpoint: 'completions', request: { prompt: `logged ${stream}` } },
    answer: {
      object: 'text_completion',
      choices: [{ text: `You said: logged ${stream}`, finish_reason: 'stop', index: 0 }],
    },
  });
});

test.for([
  [{ model: 'code', prompt: [] }, 'prompt'],
  [{ model: 'code', prompt: 'x', temperature: 3 }, 'temperature'],
  [{ model: 'code', prompt: 'x', n: 0 }, 'n'],
  [{ prompt: 'x' }, 'model'],
] as const)('%j is refused before a provider is called', async ([body, param]) => {
  const reply = await post(body);
  expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param } }]);
  expect(stack.first.requests).toEqual([]);
});
