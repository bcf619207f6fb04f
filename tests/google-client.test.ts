import { createGoogle } from '@ai-sdk/google';
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, type Schema, Type } from '@google/genai';
import { generateText, streamText } from 'ai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Google's clients over models of every family. */

let gateway: Gateway;
let google: GoogleGenAI;
beforeAll(async () => {
  gateway = await startGateway({ services: ['edge', 'text'] });
  google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } });
});
afterAll(() => gateway?.close());

const MODELS = ['gpt-5.2', 'claude-sonnet-5-5'] as const;

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
  const stranger = new GoogleGenAI({ apiKey: 'sk-stranger', httpOptions: { baseUrl: gateway.url } });
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
