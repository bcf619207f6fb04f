import { createGoogle } from '@ai-sdk/google';
import { waitFor } from '@gateway/testkit/wait-for';
import {
  ApiError,
  FunctionCallingConfigMode,
  GoogleGenAI,
  type Part,
  type Schema,
  Type,
} from '@google/genai';
import { generateText, streamText } from 'ai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { askAdmin, createKey } from './support/admin-keys.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Google's clients over models of every family. */

let gateway: Gateway;
let google: GoogleGenAI;
beforeAll(async () => {
  gateway = await startGateway({ services: ['edge', 'text'], configuration });
  google = clientOf(gateway.key);
});
afterAll(() => gateway?.close());

const clientOf = (apiKey: string): GoogleGenAI =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.url } });

/** A channel for each protocol; `moved` is first tried where nobody listens. */
const configuration = (origin: string): string => `
channels:
  responses: { provider: simulator, baseUrl: "${origin}", apiKey: of-mine, speaks: [responses] }
  messages: { provider: simulator, baseUrl: "${origin}", apiKey: of-mine, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${origin}", apiKey: of-mine, speaks: [chat] }
  google: { provider: gemini, baseUrl: "${origin}/v1beta", apiKey: of-mine }
  nowhere: { provider: simulator, baseUrl: "http://127.0.0.1:9", apiKey: of-mine }
models:
  gpt-5.2: { kind: text, routes: [{ channel: responses }] }
  claude-sonnet-5-5: { kind: text, routes: [{ channel: messages }] }
  local-model: { kind: text, routes: [{ channel: chat }] }
  gemini-3.8-flash: { kind: text, routes: [{ channel: google }] }
  moved:
    kind: text
    routes: [{ channel: nowhere, model: gpt-5.2, priority: 0 }, { channel: messages, model: claude-sonnet-5-5, priority: 1 }]
    price: { inputPerMTok: 3, cachedInputPerMTok: 1, outputPerMTok: 15 }
contentLog: { rules: [{}] }
`;

const MODELS = ['gpt-5.2', 'claude-sonnet-5-5', 'local-model', 'gemini-3.8-flash'] as const;

test.for(MODELS)('%s: a text, and what it cost', async (model) => {
  const reply = await google.models.generateContent({ model, contents: 'What is up?' });
  expect(reply.text).toBe('You said: What is up?');
  expect(reply.candidates?.[0]?.finishReason).toBe('STOP');
  expect(reply.modelVersion).toBe(model);
  expect(reply.usageMetadata).toMatchObject({
    promptTokenCount: 3,
    candidatesTokenCount: 6,
    totalTokenCount: 9,
  });
});

test.for(MODELS)('%s: a streamed text', async (model) => {
  const parts: string[] = [];
  let last: string | undefined;
  for await (const chunk of await google.models.generateContentStream({ model, contents: 'What is up?' })) {
    parts.push(chunk.text ?? '');
    last = chunk.candidates?.[0]?.finishReason;
  }
  expect(parts.join('')).toBe('You said: What is up?');
  expect(parts.length).toBeGreaterThan(1);
  expect(last).toBe('STOP');
});

/** As Google's client below 2.0 finds the next event of a stream. */
const NEXT_EVENT = /^\s*data: (.*)(?:\n\n|\r\r|\r\n\r\n)/;

test.for(MODELS)('%s: a stream has nothing that older clients cannot read past', async (model) => {
  const reply = await fetch(`${gateway.url}/v1beta/models/${model}:streamGenerateContent?alt=sse`, {
    method: 'POST',
    headers: { 'x-goog-api-key': gateway.key, 'content-type': 'application/json' },
    body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'What is up?' }] }] }),
  });
  let rest = await reply.text();
  for (let next = NEXT_EVENT.exec(rest); next !== null; next = NEXT_EVENT.exec(rest))
    rest = rest.slice(next[0].length);
  expect(rest.trim()).toBe('');
});

const parameters: Schema = {
  type: Type.OBJECT,
  properties: { city: { type: Type.STRING } },
  required: ['city'],
};

test.for(MODELS)('%s: a call, and its result without an id', async (model) => {
  const config = {
    tools: [{ functionDeclarations: [{ name: 'get_weather', description: 'The weather', parameters }] }],
    toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
  };
  const user = { role: 'user', parts: [{ text: 'Weather in Oslo?' }] };
  const reply = await google.models.generateContent({ model, contents: [user], config });
  const [call] = reply.functionCalls ?? [];
  expect(call?.name).toBe('get_weather');
  expect(call?.args).toHaveProperty('city');
  const answer = reply.candidates?.[0]?.content;
  if (answer === undefined) throw new Error('no content');
  const parts = (answer.parts ?? []).map((part) => {
    const { id: _, ...withoutId } = part.functionCall ?? {};
    return part.functionCall === undefined ? part : { ...part, functionCall: withoutId };
  });
  const bare = { role: 'model', parts };
  const result = {
    role: 'user',
    parts: [{ functionResponse: { name: 'get_weather', response: { output: 'rain' } } }],
  };
  const next = await google.models.generateContent({
    model,
    contents: [user, bare, result],
    config: { tools: config.tools },
  });
  expect(next.candidates?.[0]?.finishReason).toBe('STOP');
});

test('without alt=sse a stream is one JSON array', async () => {
  const response = await fetch(`${gateway.url}/v1beta/models/gpt-5.2:streamGenerateContent`, {
    method: 'POST',
    headers: { 'x-goog-api-key': gateway.key, 'content-type': 'application/json' },
    body: JSON.stringify({ contents: { parts: { text: 'What is up?' } } }),
  });
  expect(response.headers.get('content-type')).toBe('application/json');
  const chunks: { candidates: { content: { parts: { text?: string }[] } }[] }[] = JSON.parse(
    await response.text(),
  );
  expect(chunks.length).toBeGreaterThan(1);
  const text = chunks.flatMap(
    ({ candidates }) => candidates[0]?.content.parts.map((part) => part.text ?? '') ?? [],
  );
  expect(text.join('')).toBe('You said: What is up?');
});

test('tokens are counted', async () => {
  const { totalTokens } = await google.models.countTokens({ model: 'gpt-5.2', contents: 'What is up?' });
  expect(totalTokens).toBeGreaterThan(0);
});

test('models are listed, page by page, and read', async () => {
  const names: string[] = [];
  for await (const { name } of await google.models.list({ config: { pageSize: 2 } })) names.push(name ?? '');
  expect(names).toContain('models/gpt-5.2');
  expect(new Set(names).size).toBe(names.length);
  expect(await google.models.get({ model: 'gpt-5.2' })).toMatchObject({ name: 'models/gpt-5.2' });
});

const failureOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

test("errors are in Google's form", async () => {
  const stranger = clientOf('sk-stranger');
  const calls = [
    [stranger, 'gpt-5.2', 401, 'UNAUTHENTICATED'],
    [google, 'no-such-model', 404, 'NOT_FOUND'],
  ] as const;
  for (const [client, model, status, word] of calls) {
    const error = await failureOf(client.models.generateContent({ model, contents: 'Hello' }));
    if (!(error instanceof ApiError)) throw new Error('no API error');
    expect(error.status).toBe(status);
    expect(error.message).toContain(word);
  }
});

test('a limit is refused in words that say when to come again', async () => {
  const { key } = await createKey(gateway.stack, { name: 'once', limits: { requestsPerMinute: 1 } });
  const client = clientOf(key);
  const ask = () => client.models.generateContent({ model: 'gpt-5.2', contents: 'Hello' });
  await ask();
  const error = await failureOf(ask());
  if (!(error instanceof ApiError)) throw new Error('no API error');
  expect(error.status).toBe(429);
  expect(JSON.parse(error.message)).toMatchObject({
    error: {
      code: 429,
      status: 'RESOURCE_EXHAUSTED',
      details: expect.arrayContaining([
        {
          '@type': 'type.googleapis.com/google.rpc.RetryInfo',
          retryDelay: expect.stringMatching(/^\d+s$/),
        },
      ]),
    },
  });
});

test('a budget and the endpoints of a key hold', async () => {
  const poor = await createKey(gateway.stack, { name: 'poor', budget: { usd: 0.000_001, period: 'total' } });
  const other = await createKey(gateway.stack, { name: 'other', endpoints: ['responses'] });
  const calls = [
    [poor, 'budget_exhausted'],
    [other, 'PERMISSION_DENIED'],
  ] as const;
  for (const [{ key }, word] of calls) {
    const error = await failureOf(
      clientOf(key).models.generateContent({ model: 'moved', contents: 'Hello' }),
    );
    expect(String(error)).toContain(word);
  }
  const own = await createKey(gateway.stack, { name: 'own', endpoints: ['gemini'] });
  expect((await clientOf(own.key).models.generateContent({ model: 'moved', contents: 'Hello' })).text).toBe(
    'You said: Hello',
  );
});

const Records = z.array(z.looseObject({ id: z.string() }));

test('what a call used is recorded and priced as its caller reads it, and its content logged', async () => {
  const { id, key } = await createKey(gateway.stack, { name: 'counted' });
  const { usageMetadata: used } = await clientOf(key).models.generateContent({
    model: 'moved',
    contents: 'Use thinking [[simulate reasoning-tokens=64 cached-tokens=2]]',
    config: { thinkingConfig: { thinkingBudget: 2048 } },
  });
  expect(used).toMatchObject({ cachedContentTokenCount: 2, thoughtsTokenCount: 64 });
  const { promptTokenCount = 0, candidatesTokenCount = 0 } = used ?? {};
  const outputTokens = candidatesTokenCount + 64;
  const records = async () => {
    const response = await askAdmin(
      gateway.stack,
      'GET',
      `/admin/v1/usage/records?format=ndjson&keyId=${id}`,
    );
    const lines = (await response.text()).split('\n').filter((line) => line !== '');
    return Records.parse(lines.map((line) => JSON.parse(line)));
  };
  await waitFor(async () => (await records()).length === 1);
  const [record] = await records();
  expect(record).toMatchObject({
    ...{ endpoint: 'gemini', model: 'moved', channel: 'messages', outcome: 'ok', attempts: 2 },
    ...{ inputTokens: promptTokenCount, cachedInputTokens: 2, outputTokens, reasoningTokens: 64 },
    costMicroUsd: (promptTokenCount - 2) * 3 + 2 * 1 + outputTokens * 15,
  });
  const content = () =>
    fetch(`${gateway.stack.adminUrl}/admin/v1/requests/${record?.id}/content`, {
      headers: { authorization: `Bearer ${gateway.stack.adminToken}` },
    });
  await waitFor(async () => (await content()).status === 200);
  const logged = await (await content()).text();
  expect(logged).toContain('Use thinking');
  expect(logged).toContain('You said: Use thinking');
});

test.for(MODELS)('%s: an answer in a schema', async (model) => {
  const schema: Schema = {
    type: Type.OBJECT,
    properties: { name: { type: Type.STRING, nullable: true }, count: { type: Type.INTEGER } },
    required: ['name', 'count'],
    propertyOrdering: ['count', 'name'],
  };
  const forms = [{ responseSchema: schema }, { responseJsonSchema: parametersOf(['name', 'count']) }];
  for (const form of forms) {
    const { text } = await google.models.generateContent({
      model,
      contents: 'Make one.',
      config: { responseMimeType: 'application/json', ...form },
    });
    expect(Object.keys(JSON.parse(text ?? ''))).toEqual(['name', 'count']);
  }
});

const parametersOf = (names: readonly string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: names,
  additionalProperties: false,
});

test.for(MODELS)('%s: a refusal ends as SAFETY', async (model) => {
  const { candidates } = await google.models.generateContent({ model, contents: '[[simulate refusal]]' });
  expect(candidates?.[0]?.finishReason).toBe('SAFETY');
});

test.for(['claude-sonnet-5-5', 'local-model', 'gemini-3.8-flash'])(
  '%s: an answer that is cut off says so, and one that is stopped stops',
  async (model) => {
    const ask = (config: object) =>
      google.models.generateContent({ model, contents: 'Hello there my friend', config });
    expect((await ask({ maxOutputTokens: 3 })).candidates?.[0]?.finishReason).toBe('MAX_TOKENS');
    const stopped = await ask({ stopSequences: ['there'] });
    expect(stopped.candidates?.[0]?.finishReason).toBe('STOP');
    expect(stopped.text).toBe('You said: Hello ');
  },
);

test.for([true, false])('results of two calls of one function find theirs, with ids: %s', async (hasIds) => {
  const id = (name: string) => (hasIds ? { id: name } : {});
  const call = (name: string): Part => ({ functionCall: { ...id(name), name: 'look', args: {} } });
  const result = (name: string): Part => ({
    functionResponse: { ...id(name), name: 'look', response: { output: name } },
  });
  const order = hasIds ? ['two', 'one'] : ['one', 'two'];
  for (const model of ['gpt-5.2', 'claude-sonnet-5-5', 'local-model']) {
    const reply = await google.models.generateContent({
      model,
      contents: [
        { role: 'user', parts: [{ text: 'Go' }] },
        { role: 'model', parts: ['one', 'two'].map(call) },
        { role: 'user', parts: order.map(result) },
      ],
      config: { tools: [{ functionDeclarations: [{ name: 'look', description: 'Looks' }] }] },
    });
    expect(reply.text).toBe('The tool answered: one | two');
  }
});

/** What the maker of a model finds of its own reasoning in the next turn. */
const OWN_SEALS = { 'gpt-5.2': '"encrypted_content":', 'claude-sonnet-5-5': '"signature":' } as const;

test.for(['gpt-5.2', 'claude-sonnet-5-5'] as const)(
  '%s: reasoning goes back to its maker with the call that it led to, and to nobody else',
  async (maker) => {
    const user = { role: 'user', parts: [{ text: 'Use thinking, reasoning and use tool look' }] };
    const config = {
      tools: [{ functionDeclarations: [{ name: 'look', description: 'Looks' }] }],
      thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 },
    };
    const reply = await google.models.generateContent({ model: maker, contents: [user], config });
    const answer = reply.candidates?.[0]?.content;
    if (answer === undefined) throw new Error('no content');
    const thought = answer.parts?.find((part) => part.thought)?.text ?? '';
    expect(thought).not.toBe('');
    const { id = '', name = '' } = reply.functionCalls?.[0] ?? {};
    const result = { role: 'user', parts: [{ functionResponse: { id, name, response: { output: 'ok' } } }] };
    for (const model of MODELS) {
      const next = await google.models.generateContent({
        model,
        contents: [user, answer, result],
        config: { tools: config.tools },
      });
      expect(next.text).toBe('The tool answered: ok');
      const sent = String(gateway.simulator.requests.at(-1)?.body);
      if (model === maker) expect(sent).toContain(OWN_SEALS[maker]);
      else expect(sent).not.toContain(thought.slice(0, 20));
    }
  },
);

test.for(['gpt-5.2', 'claude-sonnet-5-5', 'local-model'])('%s: an image is seen', async (model) => {
  const data =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await google.models.generateContent({
    model,
    contents: [{ role: 'user', parts: [{ text: 'What?' }, { inlineData: { mimeType: 'image/png', data } }] }],
  });
  expect(String(gateway.simulator.requests.at(-1)?.body)).toContain(data);
});

test.for<[call: string, ask: () => Promise<unknown>, says: string]>([
  [
    'batches',
    () => google.batches.create({ model: 'gemini-3.8-flash', src: [{ contents: 'Hello' }] }),
    'Batches in the Gemini form are not offered.',
  ],
  [
    'caches',
    () => google.caches.create({ model: 'gemini-3.8-flash', config: { contents: 'Hello' } }),
    'Contents are not cached by name.',
  ],
  ['stores', () => google.fileSearchStores.create({}), 'There are no vector stores.'],
])('a call of %s, which the gateway does not have, says what to use in its place', async ([, ask, says]) => {
  const error = await ask().catch((thrown: unknown) => thrown);
  if (!(error instanceof ApiError)) throw new Error('no ApiError');
  expect(error.status).toBe(404);
  expect(JSON.parse(error.message)).toMatchObject({
    error: { code: 404, status: 'NOT_FOUND', message: expect.stringContaining(says) },
  });
});

test('a key in the URL is not taken', async () => {
  const response = await fetch(`${gateway.url}/v1beta/models?key=${gateway.key}`);
  expect(response.status).toBe(401);
  expect(await response.json()).toMatchObject({
    error: { code: 401, status: 'UNAUTHENTICATED', message: expect.stringContaining('x-goog-api-key') },
  });
});

test('a stream that breaks ends in an error', async () => {
  const read = async () => {
    const contents = '[[simulate cut-after=3]] What is up with all of this today?';
    for await (const _ of await google.models.generateContentStream({ model: 'gpt-5.2', contents }));
  };
  await expect(read()).rejects.toThrow();
});

test('the AI SDK: a text and a streamed text', async () => {
  const provider = createGoogle({ baseURL: `${gateway.url}/v1beta`, apiKey: gateway.key });
  const model = provider('claude-sonnet-5-5');
  const { text, usage } = await generateText({ model, prompt: 'What is up?', maxRetries: 0 });
  expect(text).toBe('You said: What is up?');
  expect(usage).toMatchObject({ inputTokens: 3, outputTokens: 6 });
  const stream = streamText({ model, prompt: 'What is up?', maxRetries: 0 });
  expect(await stream.text).toBe('You said: What is up?');
  expect(await stream.finishReason).toBe('stop');
});
