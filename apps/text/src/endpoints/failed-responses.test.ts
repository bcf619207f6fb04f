import { collectSse } from '@gateway/testkit/collect-sse';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Stack } from '../testing/start-stack.ts';
import { startPairs } from '../testing/text-pairs.ts';

let stack: Stack;
/** Gives up on a provider that falls silent. */
let impatient: Stack;
beforeAll(async () => {
  stack = await startPairs();
  impatient = await startPairs({ idleMs: 300 });
});
afterAll(async () => {
  await Promise.all([stack, impatient].map((one) => one[Symbol.asyncDispose]()));
});
beforeEach(() => stack.first.reset());

/** After so many events something was shown, and the answer is not whole. */
const MODELS = [
  ['to-responses', 6],
  ['to-messages', 4],
  ['to-chat', 3],
] as const;

const BREAKS = MODELS.flatMap(([model, after]) =>
  (['cutAfter', 'endAfter', 'errorEventAfter', 'stallAfter'] as const).map(
    (how) => [model, how, after] as const,
  ),
);

test.for(BREAKS)(
  '%s: a response that breaks by %s after its first output is kept as failed, with what had come',
  async ([model, how, after]) => {
    const { first, text } = how === 'stallAfter' ? impatient : stack;
    first.script({ [how]: after });
    const reply = await text.fetch('/v1/responses', { body: { model, input: 'Hello', stream: true } });
    const events = await collectSse(reply);
    const { response } = Object(events.find(({ event }) => event === 'response.failed')?.json);
    expect(response.output[0].content[0].text).not.toBe('');
    const stored = Object(await (await text.fetch(`/v1/responses/${response.id}`)).json());
    expect(stored).toMatchObject({
      id: response.id,
      status: 'failed',
      error: response.error,
      output: response.output,
    });
    const items = await text.fetch(`/v1/responses/${response.id}/input_items`);
    expect(await items.json()).toMatchObject({ data: [{ content: [{ text: 'Hello' }] }] });
    const next = await text.fetch('/v1/responses', {
      body: { model, input: 'On', previous_response_id: response.id },
    });
    expect(next.status).toBe(400);
  },
);

test.for(MODELS)('%s: a response that fails and is not to be stored is not', async ([model, after]) => {
  stack.first.script({ cutAfter: after });
  const reply = await stack.text.fetch('/v1/responses', {
    body: { model, input: 'Hello', stream: true, store: false },
  });
  const { response } = Object(
    (await collectSse(reply)).find(({ event }) => event === 'response.failed')?.json,
  );
  expect((await stack.text.fetch(`/v1/responses/${response.id}`)).status).toBe(404);
});

const SIGNED = [
  { role: 'user', content: 'Hi' },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 'EqQBother' },
      { type: 'text', text: 'Hello.' },
    ],
  },
  { role: 'user', content: 'On' },
];
const SEALED = [
  { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAother' },
  { type: 'message', role: 'user', content: 'On' },
];
const badSignature = 'messages.1.content.0: Invalid `signature` in `thinking` block';

test.for([
  [
    '/v1/messages',
    { model: 'to-messages', max_tokens: 9, messages: SIGNED },
    { type: 'error', error: { type: 'invalid_request_error', message: badSignature } },
    'messages[1].content[0]',
    'EqQBother',
  ],
  [
    '/v1/responses',
    { model: 'to-responses', input: SEALED },
    {
      error: {
        message: 'The encrypted content gAAA... could not be verified.',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_encrypted_content',
      },
    },
    'input[0]',
    'gAAAother',
  ],
  [
    '/v1/chat/completions',
    {
      model: 'to-chat',
      messages: [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: 'Hello.',
          extra_content: { google: { thought_signature: 'CsMBother' } },
        },
        { role: 'user', content: 'On' },
      ],
    },
    { error: { code: 400, message: 'Thought signature is not valid.', status: 'INVALID_ARGUMENT' } },
    'messages[1].extra_content',
    'CsMBother',
  ],
] as const)(
  '%s: thoughts that its provider refuses as not its own are left out once, by name',
  async ([path, body, json, dropped, seal]) => {
    stack.first.script({ status: 400, json });
    const reply = await stack.text.fetch(path, { body });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-gateway-dropped')).toContain(dropped);
    expect((await stack.first.nextRequest()).text()).toContain(seal);
    expect((await stack.first.nextRequest()).text()).not.toContain(seal);
  },
);

test('a thought of another model, without its content, is no reference for a provider that did not make it', async () => {
  const input = [
    { role: 'user', content: 'Hi' },
    { type: 'reasoning', id: 'rs_0123456789', summary: [{ type: 'summary_text', text: 'Hm.' }] },
    { role: 'user', content: 'On' },
  ];
  const reply = await stack.text.fetch('/v1/responses', { body: { model: 'to-responses', input } });
  expect(reply.headers.get('x-gateway-dropped')).toBe('input[1]');
  expect((await stack.first.nextRequest()).text()).not.toContain('rs_0123456789');
});
