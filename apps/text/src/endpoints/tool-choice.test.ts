import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Stack } from '../testing/start-stack.ts';
import { PAIRS, PATHS, requestOf, startPairs, type TextProtocolName } from '../testing/text-pairs.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startPairs();
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => stack.first.reset());

const parameters = { type: 'object', properties: {} };

/** A request with the tool `known` that demands a call of another one, or of that. */
const demanding: Readonly<Record<TextProtocolName, (name: string) => object>> = {
  responses: (name) => ({
    tools: [{ type: 'function', name: 'known', parameters, strict: false }],
    tool_choice: { type: 'function', name },
  }),
  messages: (name) => ({
    tools: [{ name: 'known', input_schema: parameters }],
    tool_choice: { type: 'tool', name },
  }),
  chat: (name) => ({
    tools: [{ type: 'function', function: { name: 'known', parameters } }],
    tool_choice: { type: 'function', function: { name } },
  }),
};

const OPENAI_ERROR = {
  error: {
    message: "Tool choice 'lacking' not found in 'tools' parameter.",
    type: 'invalid_request_error',
    param: 'tool_choice',
    code: 'invalid_value',
  },
};
const ANTHROPIC_ERROR = {
  type: 'error',
  error: {
    type: 'invalid_request_error',
    message: "tool_choice: Tool 'lacking' not found in provided tools",
  },
  request_id: expect.any(String),
};

test.for(PAIRS)(
  '$caller over $target: a tool choice that names no tool of the request is refused before any upstream',
  async ({ caller, target: _, model }) => {
    const send = (name: string) =>
      stack.text.fetch(PATHS[caller], { body: requestOf(caller, model, 'Hello', demanding[caller](name)) });
    const refused = await send('lacking');
    expect(refused.status).toBe(400);
    expect(await refused.json()).toEqual(caller === 'messages' ? ANTHROPIC_ERROR : OPENAI_ERROR);
    expect(stack.first.requests).toEqual([]);
    expect((await send('known')).status).toBe(200);
  },
);

test.for([
  ['messages', '/v1/messages/count_tokens'],
  ['responses', '/v1/responses/input_tokens'],
] as const)('%s: so is it where tokens are counted', async ([caller, path]) => {
  const { max_tokens: _, ...body }: { max_tokens?: number } = requestOf(
    caller,
    `to-${caller}`,
    'Hello',
    demanding[caller]('lacking'),
  );
  expect((await stack.text.fetch(path, { body })).status).toBe(400);
  expect(stack.first.requests).toEqual([]);
});
