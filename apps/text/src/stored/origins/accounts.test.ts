import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stack, startStack } from '../../testing/start-stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first) => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKeys: { a: key-of-a, b: key-of-b }, speaks: [responses] }
models:
  gpt: { kind: text, routes: [{ channel: one }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());

/** Sends a request, and returns its reply and the key that it reached the provider with. */
const send = async (body: object) => {
  const reply = await stack.text.fetch('/v1/responses', { body: { model: 'gpt', ...body } });
  expect(reply.status).toBe(200);
  const request = stack.first.requests.at(-1);
  return {
    made: Object(await reply.json()),
    key: request?.headers.authorization,
    sent: Object(JSON.parse(String(request?.body))),
  };
};

test('a response is continued by the account that made it, which gets its id', async () => {
  const keys = new Set<unknown>();
  for (let count = 0; count < 20; count += 1) {
    const first = await send({ input: 'hi' });
    const next = await send({ input: 'and?', previous_response_id: first.made.id });
    expect(next.key).toBe(first.key);
    expect(next.sent.previous_response_id).toBe(first.made.id);
    keys.add(first.key);
  }
  expect(keys).toEqual(new Set(['Bearer key-of-a', 'Bearer key-of-b']));
});

test('an item is named to the account that made it', async () => {
  for (let count = 0; count < 10; count += 1) {
    const first = await send({ input: 'hi' });
    const input = [
      { type: 'item_reference', id: first.made.output[0].id },
      { role: 'user', content: 'and?' },
    ];
    expect((await send({ input })).key).toBe(first.key);
  }
});

test('an account that made a response and is gone from the file leads to the others', async () => {
  const made = [await send({ input: 'hi' }), await send({ input: 'hi' })];
  const file = `
channels:
  one: { provider: simulator, baseUrl: "${stack.first.url}", apiKey: key-of-c, speaks: [responses] }
models:
  gpt: { kind: text, routes: [{ channel: one }] }
`;
  stack.text.upstream.replace(parseConfiguration(file, 'gateway.yaml', {}));
  for (const { made: response } of made)
    expect((await send({ input: 'and?', previous_response_id: response.id })).key).toBe('Bearer key-of-c');
});
