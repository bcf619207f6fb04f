import { afterAll, beforeAll, expect, test } from 'vitest';
import { PLAIN, type Stack, startStack } from '../../testing/start-stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ configuration: PLAIN });
});
afterAll(() => stack[Symbol.asyncDispose]());

test('a request by a draft that has expired is refused, and never sent by the configuration in use', async () => {
  const response = await stack.text.fetch('/v1/responses', {
    body: { model: 'gpt-5.2', input: 'hi' },
    identity: { draft: 'expired' },
  });
  expect([response.status, await response.json()]).toMatchObject([
    404,
    { error: { message: expect.stringContaining('The draft is no longer there') } },
  ]);
  expect(stack.first.requests).toEqual([]);
});
