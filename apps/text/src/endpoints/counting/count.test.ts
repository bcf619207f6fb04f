import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { Stack } from '../../testing/start-stack.ts';
import { requestOf, startPairs } from '../../testing/text-pairs.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startPairs({
    models: `
  unable: { kind: text, routes: [{ channel: chat, priority: 0 }, { channel: messages, priority: 1 }] }`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => stack.first.reset());

const PATHS = { messages: '/v1/messages/count_tokens', responses: '/v1/responses/input_tokens' } as const;
const TEXT = 'How many tokens has this question, and who counts them?';

const Counted = z.looseObject({ input_tokens: z.number().default(-1), object: z.string().optional() });

const count = async (caller: keyof typeof PATHS, model: string, more: object = {}) => {
  const { max_tokens: _, ...body }: { max_tokens?: number } = requestOf(caller, model, TEXT, more);
  const reply = await stack.text.fetch(PATHS[caller], { body });
  return {
    status: reply.status,
    estimated: reply.headers.get('x-gateway-estimated'),
    body: Counted.parse(await reply.json()),
  };
};

test.for([
  ['messages', 'to-messages', '/v1/messages/count_tokens'],
  ['messages', 'to-responses', '/v1/responses/input_tokens'],
  ['responses', 'to-responses', '/v1/responses/input_tokens'],
  ['responses', 'to-messages', '/v1/messages/count_tokens'],
] as const)('%s for %s: the upstream counts', async ([caller, model, path]) => {
  const { status, estimated, body } = await count(caller, model);
  expect(status).toBe(200);
  expect(estimated).toBe(null);
  expect(body.input_tokens).toBe(Math.ceil(TEXT.length / 4));
  if (caller === 'responses') expect(body.object).toBe('response.input_tokens');
  const received = await stack.first.nextRequest();
  expect(received.path).toBe(path);
  expect(Object.keys(Object(received.json()))).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(max_tokens|store|stream|include)$/)]),
  );
});

test.for(['messages', 'responses'] as const)(
  '%s for a chat model: an estimate, marked as one',
  async (caller) => {
    const { status, estimated, body } = await count(caller, 'to-chat');
    expect(status).toBe(200);
    expect(estimated).toBe('true');
    expect(body.input_tokens).toBeGreaterThan(8);
    expect(body.input_tokens).toBeLessThan(30);
    expect(stack.first.requests).toEqual([]);
  },
);

test('tools, images and earlier turns count in an estimate', async () => {
  const { body: bare } = await count('messages', 'to-chat');
  const { body: full } = await count('messages', 'to-chat', {
    system: 'Be brief.',
    tools: [{ name: 'f', description: 'Does it.', input_schema: { type: 'object', properties: {} } }],
    messages: [
      { role: 'user', content: TEXT },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't_1', name: 'f', input: { a: 1 } }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't_1', content: 'done' },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
        ],
      },
    ],
  });
  expect(full.input_tokens).toBeGreaterThan(bare.input_tokens + 1600);
});

test('a reserve of another kind is not called instead of a model that cannot count', async () => {
  expect(await count('messages', 'unable')).toMatchObject({ status: 200, estimated: 'true' });
});

const PREFILL = { role: 'assistant', content: 'The answer is' };
const CALL = { role: 'assistant', content: [{ type: 'tool_use', id: 't_1', name: 'f', input: { a: 1 } }] };

test.for([
  ['to-messages', PREFILL],
  ['to-responses', PREFILL],
  ['to-responses', CALL],
  ['to-chat', PREFILL],
  ['to-chat', CALL],
] as const)('%s counts a conversation that ends with %j', async ([model, last]) => {
  const { status, body } = await count('messages', model, {
    messages: [{ role: 'user', content: TEXT }, last],
  });
  expect(status).toBe(200);
  expect(body.input_tokens).toBeGreaterThan(8);
});

test.for(['to-messages', 'to-responses', 'to-chat'])(
  'what a count takes and does not count changes nothing: %s',
  async (model) => {
    const plain = await count('messages', model);
    const counted = await count('messages', model, {
      compaction: { type: 'summarize', instructions: 'Be brief.' },
      billing_policy: { bill_to: 'user_profile' },
      speed: 'fast',
      user_profile_id: 'p_1',
    });
    expect(counted).toEqual(plain);
  },
);

test('where the upstream lacks the path, the gateway estimates', async () => {
  stack.first.script({ status: 404 });
  expect(await count('messages', 'to-messages')).toMatchObject({ status: 200, estimated: 'true' });
});

test("the upstream's refusal and its failure reach the caller", async () => {
  stack.first.script({ status: 400 });
  expect(await count('responses', 'to-messages')).toMatchObject({
    status: 400,
    body: { error: { type: 'invalid_request_error' } },
  });
  stack.first.script({ status: 503 });
  expect((await count('messages', 'to-messages')).status).toBe(529);
});

test('a text of a million letters without a space is counted without holding anybody up', async () => {
  const { status, estimated, body } = await count('messages', 'to-chat', {
    messages: [{ role: 'user', content: 'x'.repeat(3_000_000) }],
  });
  expect({ status, estimated }).toEqual({ status: 200, estimated: 'true' });
  expect(body.input_tokens).toBeGreaterThan(100_000);
});
