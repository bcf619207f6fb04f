import Anthropic from '@anthropic-ai/sdk';
import { recordedStream } from '@gateway/simulator/recorded-stream';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { PLAIN, type Stack, startStack } from '../testing/start-stack.ts';

let stack: Stack;
let openai: OpenAI;
let anthropic: Anthropic;
beforeAll(async () => {
  stack = await startStack({ configuration: PLAIN });
  const { url } = stack.text;
  const options = { apiKey: 'key', maxRetries: 0, defaultHeaders: stack.text.identityHeaders() };
  openai = new OpenAI({ ...options, baseURL: `${url}/v1` });
  anthropic = new Anthropic({ ...options, baseURL: url });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => stack.first.reset());

const MESSAGE = {
  model: 'claude-sonnet-5-5',
  max_tokens: 50,
  messages: [{ role: 'user' as const, content: 'hi' }],
};

test("OpenAI's client creates, streams, reads, lists, continues and deletes a response", async () => {
  const made = await openai.responses.create({ model: 'gpt-5.2', input: 'hi' });
  expect(made.output_text).toContain('hi');
  const final = await openai.responses
    .stream({ model: 'gpt-5.2', input: 'and?', previous_response_id: made.id })
    .finalResponse();
  expect(final.status).toBe('completed');
  expect((await openai.responses.retrieve(final.id)).id).toBe(final.id);
  expect((await openai.responses.inputItems.list(made.id)).data).toHaveLength(1);
  await openai.responses.delete(made.id);
  await expect(openai.responses.retrieve(made.id)).rejects.toThrow(OpenAI.NotFoundError);
});

test("Anthropic's client creates, streams and counts", async () => {
  expect((await anthropic.messages.create(MESSAGE)).stop_reason).toBe('end_turn');
  expect((await anthropic.messages.stream(MESSAGE).finalMessage()).usage.output_tokens).toBeGreaterThan(0);
  const { max_tokens: _, ...counted } = MESSAGE;
  expect((await anthropic.messages.countTokens(counted)).input_tokens).toBeGreaterThan(0);
});

test('refusals are of the class that their status has', async () => {
  await expect(openai.responses.create({ model: 'nope', input: 'hi' })).rejects.toThrow(OpenAI.NotFoundError);
  await expect(openai.responses.create({ model: 'gpt-5.2', input: 'hi', temperature: 3 })).rejects.toThrow(
    OpenAI.BadRequestError,
  );
  await expect(anthropic.messages.create({ ...MESSAGE, model: 'nope' })).rejects.toThrow(
    Anthropic.NotFoundError,
  );
  await expect(anthropic.messages.create({ ...MESSAGE, max_tokens: -1 })).rejects.toThrow(
    Anthropic.BadRequestError,
  );
});

test("a stream that breaks is an error for each client, in the words of the gateway's event", async () => {
  stack.first.script({ sse: recordedStream('responses-text'), cutAfter: 5 });
  const response = openai.responses.stream({ model: 'gpt-5.2', input: 'hi' }).finalResponse();
  await expect(response).rejects.toThrow('The upstream failed to answer this request.');
  stack.first.script({ sse: recordedStream('messages-text'), cutAfter: 5 });
  await expect(anthropic.messages.stream(MESSAGE).finalMessage()).rejects.toThrow(
    'The upstream failed to answer this request.',
  );
});
