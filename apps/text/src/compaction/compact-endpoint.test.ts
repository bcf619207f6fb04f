import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EMULATED, responsesOf, startCompactionStack, user } from '../testing/compaction-stack.ts';
import type { Stack } from '../testing/start-stack.ts';

let stack: Stack;
let { compact, respond } = {} as ReturnType<typeof responsesOf>;
beforeAll(async () => {
  stack = await startCompactionStack();
  ({ compact, respond } = responsesOf(stack));
});
afterAll(() => stack?.[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const INPUT = [
  user('My name is Alma, and the port is 4711.'),
  { type: 'message', role: 'assistant', content: 'Noted.' },
  user('Now write the README.'),
];

/** The window that a conversation is compacted to, and its last item. */
async function windowOf(model: string) {
  const { output } = await compact({ model, input: INPUT });
  const item = output.at(-1);
  if (item?.encrypted_content === undefined) throw new Error('no compaction');
  return { output, item, sealed: item.encrypted_content };
}

describe.for(EMULATED)('%s', (model) => {
  test('a conversation becomes the messages of its user and one sealed item', async () => {
    stack.second.script({ text: 'Alma wants a README. Port 4711.' });
    const { status, json } = await compact({ model, input: INPUT });
    expect({ status, json }).toMatchObject({
      status: 200,
      json: {
        id: expect.stringMatching(/^resp_/),
        object: 'response.compaction',
        created_at: expect.any(Number),
        output: [
          {
            id: expect.stringMatching(/^msg_/),
            type: 'message',
            role: 'user',
            status: 'completed',
            content: [{ type: 'input_text', text: 'My name is Alma, and the port is 4711.' }],
          },
          { type: 'message', role: 'user' },
          {
            type: 'compaction',
            id: expect.stringMatching(/^cmp_/),
            encrypted_content: expect.stringMatching(/^gwc1_/),
          },
        ],
        usage: {
          input_tokens: expect.any(Number),
          input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
          output_tokens_details: { reasoning_tokens: 0 },
        },
      },
    });
    expect(JSON.stringify(json)).not.toContain('wants a README');
    const received = await stack.second.nextRequest();
    expect(received.text()).toContain('the port is 4711');
  });

  test('the next turn is answered from the summary, by any channel', async () => {
    stack.second.script({ text: 'Alma wants a README. Port 4711.' });
    const { output } = await windowOf(model);
    for (const [next, provider] of [
      ['native', stack.first],
      ...EMULATED.map((one) => [one, stack.second] as const),
    ] as const) {
      provider.reset();
      const { status } = await respond({ model: next, input: [...output, user('Go on.')] });
      expect(status).toBe(200);
      const sent = (await provider.nextRequest()).text();
      expect(sent).toContain('Alma wants a README. Port 4711.');
      expect(sent).toContain('My name is Alma');
      expect(sent).toContain('Go on.');
      expect(sent).not.toContain('gwc1_');
    }
  });
});

test('a provider that compacts gets the request as it is, and gives its own item', async () => {
  const body = { model: 'native', input: INPUT, tools: [], reasoning: null };
  const headers = { 'x-request-id': 'req_native_compacting' };
  const { status, output, usage } = await compact(body, { headers });
  expect(status).toBe(200);
  expect(output.at(-1)).toMatchObject({
    type: 'compaction',
    encrypted_content: expect.stringMatching(/^gAAAA/),
  });
  const sent = await stack.first.nextRequest();
  expect(sent.path).toBe('/v1/responses/compact');
  expect(sent.json()).toEqual(body);
  const line = await waitFor(() =>
    stack.text.lines.find(({ requestId }) => requestId === 'req_native_compacting'),
  );
  expect(line).toMatchObject({
    compaction: 'endpoint',
    compactedBy: 'provider',
    inputTokens: usage?.input_tokens,
    outputTokens: usage?.output_tokens,
  });
});

test("a provider's item goes back to that provider, wherever else the model is served", async () => {
  const { output, sealed } = await windowOf('native');
  stack.first.reset();
  const { status } = await respond({ model: 'either', input: [...output, user('Go on.')] });
  expect(status).toBe(200);
  expect((await stack.first.nextRequest()).text()).toContain(sealed);
  expect(stack.second.requests).toEqual([]);
});

test.for([...EMULATED, 'native-elsewhere'])(
  "over %s a provider's item is refused with its path",
  async (model) => {
    const { output } = await windowOf('native');
    const reply = await respond({ model, input: [...output, user('Go on.')] });
    expect(reply).toMatchObject({
      status: 400,
      json: {
        error: {
          type: 'invalid_request_error',
          code: 'invalid_encrypted_content',
          param: 'input[2].encrypted_content',
        },
      },
    });
    expect(stack.second.requests).toEqual([]);
  },
);

test.for(['native', ...EMULATED])("%s refuses what was altered, and what is another key's", async (model) => {
  const compactedBy = model === 'native' ? 'over-chat' : model;
  const { item, sealed } = await windowOf(compactedBy);
  stack.first.reset();
  stack.second.reset();
  const altered = `${sealed.slice(0, -6)}${sealed.endsWith('AAAAAA') ? 'BBBBBB' : 'AAAAAA'}`;
  const bad = await respond({ model, input: [{ ...item, encrypted_content: altered }, user('Go on.')] });
  const another = { identity: { keyId: 'key_two' } };
  const foreign = await respond({ model, input: [item, user('Go on.')] }, another);
  for (const reply of [bad, foreign])
    expect(reply).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_encrypted_content', param: 'input[0].encrypted_content' } },
    });
  expect([...stack.first.requests, ...stack.second.requests]).toEqual([]);
});

test("another key's item of a provider is refused", async () => {
  const { item } = await windowOf('native');
  stack.first.reset();
  const reply = await respond(
    { model: 'native', input: [item, user('Go on.')] },
    { identity: { keyId: 'key_two' } },
  );
  expect(reply).toMatchObject({ status: 400, json: { error: { code: 'invalid_encrypted_content' } } });
  expect(stack.first.requests).toEqual([]);
});

test('a compaction of unknown origin is left to the provider', async () => {
  const item = { type: 'compaction', encrypted_content: 'gAAAAnobodys' };
  const reply = await respond({ model: 'native', input: [item, user('Go on.')] });
  expect(reply).toMatchObject({ status: 400, json: { error: { code: 'invalid_encrypted_content' } } });
  expect(stack.first.requests).toHaveLength(1);
});

test.for([
  [{ model: 'over-chat', input: [{ role: 'developer', content: 'Be brief.' }] }, 'input', null],
  [{ model: 'over-chat', input: [] }, 'input', 'missing_required_parameter'],
  [{ model: 'over-chat' }, 'input', 'missing_required_parameter'],
  [{ input: 'Hello' }, 'model', 'missing_required_parameter'],
  [{ model: 'over-chat', input: 'Hello', conversation: 'conv_1' }, 'conversation', 'unknown_parameter'],
  [
    { model: 'over-chat', input: [{ type: 'compaction' }] },
    'input[0].encrypted_content',
    'missing_required_parameter',
  ],
  [{ model: 'over-chat', input: [{ type: 'compaction_trigger' }, user('Hi')] }, 'input[0]', 'invalid_value'],
] as const)('%j is refused at %s', async ([body, param, code]) => {
  expect(await compact(body)).toMatchObject({ status: 400, json: { error: { param, code } } });
  expect(stack.second.requests).toEqual([]);
});

test('the line of a compaction has its cause and its usage', async () => {
  const { usage } = await compact(
    { model: 'over-chat', input: INPUT },
    { headers: { 'x-request-id': 'req_compacting' } },
  );
  const line = await waitFor(() => stack.text.lines.find(({ requestId }) => requestId === 'req_compacting'));
  expect(line).toMatchObject({
    compaction: 'endpoint',
    compactedBy: 'gateway',
    channel: 'chat',
    upstreamProtocol: 'chat',
    inputTokens: usage?.input_tokens,
    outputTokens: usage?.output_tokens,
    outcome: 'ok',
  });
  expect(await stack.text.metrics.registry.metrics()).toMatch(
    /gateway_compactions_total\{by="endpoint",where="gateway",result="ok",service="text"\} [1-9]/,
  );
});
