import Anthropic from '@anthropic-ai/sdk';
import { freePort } from '@gateway/testkit/free-port';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from './support/admin-keys.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** The classes that client libraries give the gateway's errors: programs catch by them. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    services: ['edge', 'text', 'audio', 'admin'],
    env: { TEXT_MAX_BODY_BYTES: '4096' },
  });
});
afterAll(() => gateway?.close());

const bySimulation = (words: string) => ({ input: `[[simulate ${words}]]` });

interface Row {
  readonly status: number;
  /** What the request differs in from a good one. */
  readonly change?: Record<string, unknown>;
  readonly key?: string;
  /** The very class, no subclass. */
  readonly expected: abstract new (
    ...args: never[]
  ) => Error;
}

const OPENAI: Record<string, Row> = {
  'a wrong value': { status: 400, change: { temperature: 3 }, expected: OpenAI.BadRequestError },
  'a wrong key': { status: 401, key: 'not-a-key-of-this-gateway', expected: OpenAI.AuthenticationError },
  'an unknown model': { status: 404, change: { model: 'no-such-model' }, expected: OpenAI.NotFoundError },
  'a body that is too large': { status: 413, change: { input: 'x'.repeat(5000) }, expected: OpenAI.APIError },
  'a conflict at the provider': {
    status: 409,
    change: bySimulation('status=409'),
    expected: OpenAI.ConflictError,
  },
  'a request that the provider cannot process': {
    status: 422,
    change: bySimulation('status=422'),
    expected: OpenAI.UnprocessableEntityError,
  },
  'a rate limit of the provider': {
    status: 429,
    change: bySimulation('status=429'),
    expected: OpenAI.RateLimitError,
  },
  'a failure of the provider': {
    status: 502,
    change: bySimulation('status=500'),
    expected: OpenAI.InternalServerError,
  },
  'an overloaded provider': {
    status: 503,
    change: bySimulation('overloaded'),
    expected: OpenAI.InternalServerError,
  },
  'a provider that is too slow': {
    status: 504,
    change: bySimulation('status=504'),
    expected: OpenAI.InternalServerError,
  },
};

test.for(Object.entries(OPENAI))('openai: %s', async ([, { status, change, key, expected }]) => {
  const openai = new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: key ?? gateway.key,
    maxRetries: 0,
  });
  const error = await failureOf(openai.responses.create({ model: 'gpt-5.2', input: 'hello', ...change }));
  expect(error).toMatchObject({ status });
  expect(Object.getPrototypeOf(error)).toBe(expected.prototype);
  expect(error).toHaveProperty('requestID', expect.stringMatching(/^req_/));
  expect(error).toHaveProperty('type', expect.any(String));
});

const bySimulatedMessage = (words: string) => ({
  messages: [{ role: 'user', content: `[[simulate ${words}]]` }],
});

const ANTHROPIC: Record<string, Row> = {
  'a wrong value': { status: 400, change: { temperature: 3 }, expected: Anthropic.BadRequestError },
  'a wrong key': { status: 401, key: 'not-a-key-of-this-gateway', expected: Anthropic.AuthenticationError },
  'an unknown model': { status: 404, change: { model: 'no-such-model' }, expected: Anthropic.NotFoundError },
  'a body that is too large': {
    status: 413,
    change: { system: 'x'.repeat(5000) },
    expected: Anthropic.ContentTooLargeError,
  },
  'a conflict at the provider': {
    status: 409,
    change: bySimulatedMessage('status=409'),
    expected: Anthropic.ConflictError,
  },
  'a request that the provider cannot process': {
    status: 422,
    change: bySimulatedMessage('status=422'),
    expected: Anthropic.UnprocessableEntityError,
  },
  'a rate limit of the provider': {
    status: 429,
    change: bySimulatedMessage('status=429'),
    expected: Anthropic.RateLimitError,
  },
  'a failure of the provider': {
    status: 500,
    change: bySimulatedMessage('status=500'),
    expected: Anthropic.InternalServerError,
  },
  'a provider that is too slow': {
    status: 504,
    change: bySimulatedMessage('status=504'),
    expected: Anthropic.GatewayTimeoutError,
  },
  'an overloaded provider': {
    status: 529,
    change: bySimulatedMessage('overloaded'),
    expected: Anthropic.OverloadedError,
  },
};

test.for(Object.entries(ANTHROPIC))('anthropic: %s', async ([, { status, change, key, expected }]) => {
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: key ?? gateway.key, maxRetries: 0 });
  const error = await failureOf(
    anthropic.messages.create({
      model: 'claude-sonnet-5-5',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'hello' }],
      ...change,
    }),
  );
  expect(error).toMatchObject({ status });
  expect(Object.getPrototypeOf(error)).toBe(expected.prototype);
  const { requestID, error: body } = error instanceof Anthropic.APIError ? error : {};
  expect(requestID).toMatch(/^req_/);
  expect(body).toMatchObject({ type: 'error', error: { type: expect.any(String) } });
});

test('openai and anthropic: a key that may not use the endpoint', async () => {
  const { key: apiKey } = await createKey(gateway.stack, { name: 'speech only', endpoints: ['speech'] });
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 });
  expect(await failureOf(openai.responses.create({ model: 'gpt-5.2', input: 'x' }))).toBeInstanceOf(
    OpenAI.PermissionDeniedError,
  );
  const message = anthropic.messages.create({
    model: 'claude-sonnet-5-5',
    max_tokens: 1,
    messages: [{ role: 'user', content: 'x' }],
  });
  expect(await failureOf(message)).toBeInstanceOf(Anthropic.PermissionDeniedError);
});

test('openai: a file that is too large', async () => {
  const file = new File([new Uint8Array(26 * 1024 * 1024)], 'recording.wav');
  const error = await failureOf(gateway.openai.audio.transcriptions.create({ model: 'whisper-1', file }));
  expect(error).toMatchObject({ status: 413, code: 'file_too_large', param: 'file' });
});

test('openai and anthropic: a stream that breaks throws where it is read', async () => {
  const events = await gateway.openai.responses.create({
    model: 'gpt-5.2',
    input: '[[simulate cut-after=5]]',
    stream: true,
  });
  const broken = await failureOf(readAll(events));
  expect(broken).toBeInstanceOf(OpenAI.APIError);
  expect(broken).toMatchObject({ type: 'server_error', code: 'server_error' });

  const message = gateway.anthropic.messages.stream({
    model: 'claude-sonnet-5-5',
    max_tokens: 100,
    messages: [{ role: 'user', content: '[[simulate cut-after=5]]' }],
  });
  const error = await failureOf(message.finalMessage());
  expect(error).toBeInstanceOf(Anthropic.APIError);
  expect(error).toMatchObject({ error: { type: 'error', error: { type: 'api_error' } } });
});

test('openai and anthropic: nobody at the address', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const openai = new OpenAI({ baseURL: url, apiKey: gateway.key, maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: url, apiKey: gateway.key, maxRetries: 0 });
  expect(await failureOf(openai.responses.create({ model: 'gpt-5.2', input: 'x' }))).toBeInstanceOf(
    OpenAI.APIConnectionError,
  );
  const messages = [{ role: 'user', content: 'x' }] as const;
  expect(
    await failureOf(anthropic.messages.create({ model: 'x', max_tokens: 1, messages: [...messages] })),
  ).toBeInstanceOf(Anthropic.APIConnectionError);
});

test('the clients retry what is worth a retry by themselves, and nothing else', async () => {
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 2 });
  const sentCount = () => gateway.simulator.requests.length;
  const before = sentCount();
  gateway.simulator.script('/v1/responses', { status: 429, headers: { 'retry-after-ms': '1' } });
  const answer = await openai.responses.create({ model: 'gpt-5.2', input: 'once more' });
  expect(answer.output_text).toBe('You said: once more');
  expect(sentCount() - before).toBe(2);

  const refused = openai.responses.create({ model: 'gpt-5.2', input: '[[simulate status=409]]' });
  expect(await failureOf(refused)).toMatchObject({ status: 409 });
  expect(sentCount() - before).toBe(3);
});

async function readAll(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _event of events);
}

const failureOf = (promise: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(promise).then(
    (value) => {
      throw new Error(`no failure, but ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
