import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, jsonSchema, type ModelMessage, tool } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { edgeFetch } from '../testing/clients/text-client.ts';
import { type Stack, startStack } from '../testing/start-stack.ts';

/** Stored responses as client libraries use them, of models of all protocols. */

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first) => `
channels:
  responses: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [responses] }
  messages: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [chat] }
models:
  responses: { kind: text, routes: [{ channel: responses }] }
  messages: { kind: text, routes: [{ channel: messages }] }
  chat: { kind: text, routes: [{ channel: chat }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => stack.first.reset());

const MODELS = ['responses', 'messages', 'chat'] as const;

test.for(MODELS)("%s: OpenAI's client goes on, reads, lists and deletes", async (model) => {
  const client = new OpenAI({
    apiKey: 'k',
    baseURL: `${stack.text.url}/v1`,
    maxRetries: 0,
    fetch: edgeFetch(stack.text),
  });
  const made = await client.responses.create({ model, input: 'hi' });
  const streamed = await client.responses
    .stream({ model, input: 'and?', previous_response_id: made.id })
    .finalResponse();
  expect(streamed).toMatchObject({ status: 'completed', store: true, previous_response_id: made.id });
  const { id, output_text: answer } = await client.responses.retrieve(streamed.id);
  expect([id, answer]).toEqual([streamed.id, streamed.output_text]);
  const listed: string[] = [];
  const input = ['one', 'two', 'three'].map((content) => ({ role: 'user' as const, content }));
  const many = await client.responses.create({ model, input, previous_response_id: streamed.id });
  for await (const item of client.responses.inputItems.list(many.id, { limit: 1, order: 'asc' }))
    listed.push(item.type === 'message' ? JSON.stringify(item.content) : item.type);
  expect(listed.map((content) => /one|two|three/.exec(content)?.[0])).toEqual(['one', 'two', 'three']);
  await client.responses.delete(streamed.id);
  await expect(client.responses.retrieve(streamed.id)).rejects.toThrow(OpenAI.NotFoundError);
  await expect(
    client.responses.create({ model, input: 'hi', previous_response_id: many.id }),
  ).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' });
});

test.for(MODELS)('%s: the AI SDK goes on with tools and references, as it does by itself', async (model) => {
  const openai = createOpenAI({ baseURL: `${stack.text.url}/v1`, apiKey: 'k', fetch: edgeFetch(stack.text) });
  const weather = tool({
    inputSchema: jsonSchema({ type: 'object', properties: { city: { type: 'string' } } }),
    execute: () => 'sunny',
  });
  const messages: ModelMessage[] = [];
  for (const content of ['Please use tool get_weather', 'thanks', 'Please use tool get_weather', 'bye']) {
    messages.push({ role: 'user', content });
    const { text, response } = await generateText({
      model: openai.responses(model),
      messages,
      tools: { get_weather: weather },
      stopWhen: isStepCount(3),
      maxRetries: 0,
    });
    expect(text).not.toBe('');
    messages.push(...response.messages);
  }
  const bodies = stack.first.requests.map(({ body }) => body.toString());
  if (model === 'responses') expect(bodies.at(-1)).toContain('item_reference');
  else {
    expect(bodies.at(-1)).not.toContain('item_reference');
    expect(bodies.at(-1)?.match(/sunny/g)?.length).toBeGreaterThanOrEqual(2);
  }
});
