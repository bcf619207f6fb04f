import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Stack } from '../testing/start-stack.ts';
import { deltaText } from '../testing/test-streams.ts';
import { PAIRS, PATHS, requestOf, startPairs, TRANSLATED_PAIRS } from '../testing/text-pairs.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startPairs({
    models: `
  dropping: { kind: text, routes: [{ channel: chat, model: open-model }] }
  either:
    kind: text
    routes:
      - { channel: messages, model: claude-sonnet-5, priority: 0 }
      - { channel: responses, model: gpt-5.2, priority: 1 }
  mixed:
    kind: text
    routes: [{ channel: chat, weight: 1000000 }, { channel: messages, weight: 0.001 }]
  spare: { kind: text, routes: [{ channel: messages }, { channel: reserve, priority: 1 }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const UPSTREAM_NAMES = { responses: 'gpt-5.2', messages: 'claude-sonnet-5', chat: 'open-model' } as const;

test.for(PAIRS)(
  '$caller over $target: a text comes back, whole and streamed',
  async ({ caller, target, model }) => {
    const text = await stack.text.fetch(PATHS[caller], { body: requestOf(caller, model, 'Grüße 🐳') });
    expect(text.status).toBe(200);
    expect(text.headers.get('content-type')).toMatch(/^application\/json/);
    const body = await text.text();
    expect(body).toContain('You said: Grüße 🐳');
    expect(JSON.parse(body).model).toBe(caller === target ? UPSTREAM_NAMES[target] : model);
    const streamed = await stack.text.fetch(PATHS[caller], {
      body: requestOf(caller, model, 'Grüße 🐳', { stream: true }),
    });
    expect(streamed.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(deltaText(await streamed.text())).toContain('You said: Grüße 🐳');
    expect((await stack.first.nextRequest()).path).toBe(PATHS[target]);
  },
);

test.for(TRANSLATED_PAIRS)(
  '$caller over $target: the log and the metrics record usage and losses',
  async ({ caller, target, model }) => {
    const requestId = `req_line_${caller}_${target}`;
    for (const stream of [false, true]) {
      const reply = await stack.text.fetch(PATHS[caller], {
        body: requestOf(caller, model, 'Hello there', { stream, metadata: { a: 'b' } }),
        headers: { 'x-request-id': `${requestId}_${stream}` },
      });
      await reply.text();
      const line = await waitFor(() =>
        stack.text.lines.find((it) => it.requestId === `${requestId}_${stream}`),
      );
      expect(line).toMatchObject({
        status: 200,
        outcome: 'ok',
        model,
        channel: target,
        upstreamProtocol: target,
        firstByteMs: expect.any(Number),
        inputTokens: expect.any(Number),
        outputTokens: expect.any(Number),
      });
      expect(Number(line.outputTokens)).toBeGreaterThan(0);
      expect(line).not.toHaveProperty('usageEstimated');
    }
  },
);

test('a loss is named in the reply, the log and the metrics; under x-gateway-strict it is refused', async () => {
  const body = requestOf('messages', 'to-chat', 'Hello', { top_k: 5 });
  const headers = { 'x-request-id': 'req_of_a_loss' };
  const reply = await stack.text.fetch('/v1/messages', { body, headers });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('x-gateway-dropped')).toBe('top_k');
  const line = await waitFor(() => stack.text.lines.find(({ requestId }) => requestId === 'req_of_a_loss'));
  expect(line).toMatchObject({ dropped: 'top_k' });
  expect(await stack.text.metrics.registry.metrics()).toMatch(
    /gateway_translation_losses_total\{caller="messages",target="chat",service="text"\} [1-9]/,
  );
  stack.first.reset();
  const strict = await stack.text.fetch('/v1/messages', { body, headers: { 'x-gateway-strict': 'true' } });
  expect(strict.status).toBe(400);
  expect(await strict.json()).toMatchObject({
    type: 'error',
    error: { type: 'invalid_request_error', message: expect.stringContaining('top_k') },
  });
  expect(stack.first.requests).toEqual([]);
});

const UNKNOWN = { brand_new: { deep: [1] } };

test.for([
  {
    caller: 'responses',
    more: {
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi', ...UNKNOWN }], ...UNKNOWN }],
      reasoning: { effort: 'low', ...UNKNOWN },
      text: { verbosity: 'low', ...UNKNOWN },
      tools: [{ type: 'function', name: 'f', parameters: null, strict: false, ...UNKNOWN }],
      tool_choice: { type: 'function', name: 'f', ...UNKNOWN },
    },
    lost: ['reasoning', 'text', 'input[0]', 'input[0].content[0]', 'tools[0]', 'tool_choice'],
  },
  {
    caller: 'messages',
    more: {
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', ...UNKNOWN }], ...UNKNOWN }],
      system: [{ type: 'text', text: 'Be brief.', ...UNKNOWN }],
      metadata: UNKNOWN,
      thinking: { type: 'adaptive', ...UNKNOWN },
      output_config: { effort: 'low', ...UNKNOWN },
      tools: [{ name: 'f', input_schema: { type: 'object' }, ...UNKNOWN }],
      tool_choice: { type: 'auto', ...UNKNOWN },
    },
    lost: [
      'messages[0]',
      'system[0]',
      'tool_choice',
      'thinking',
      'output_config',
      'metadata',
      'tools[0]',
      'messages[0].content[0]',
    ],
  },
  {
    caller: 'chat',
    more: {
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', ...UNKNOWN }], ...UNKNOWN }],
      response_format: { type: 'json_object', ...UNKNOWN },
      tools: [{ type: 'function', function: { name: 'f', ...UNKNOWN }, ...UNKNOWN }],
      tool_choice: { type: 'function', function: { name: 'f', ...UNKNOWN } },
      stream_options: { include_usage: true, ...UNKNOWN },
    },
    lost: [
      'messages[0]',
      'messages[0].content[0]',
      'response_format',
      'tools[0]',
      'tools[0].function',
      'tool_choice.function',
      'stream_options',
    ],
  },
] as const)(
  '$caller: members within members that nobody knows are named, and refused under x-gateway-strict',
  async ({ caller, more, lost }) => {
    for (const { target, model } of TRANSLATED_PAIRS.filter((pair) => pair.caller === caller)) {
      stack.first.reset();
      const body = requestOf(caller, model, 'Hello', more);
      const reply = await stack.text.fetch(PATHS[caller], { body });
      expect({ target, status: reply.status, body: await reply.text() }).toMatchObject({ status: 200 });
      const dropped = reply.headers.get('x-gateway-dropped')?.split(',') ?? [];
      expect(dropped.filter((name) => name.endsWith('.brand_new')).toSorted()).toEqual(
        lost.map((path) => `${path}.brand_new`).toSorted(),
      );
      expect((await stack.first.nextRequest()).text()).not.toContain('brand_new');
      stack.first.reset();
      const strict = await stack.text.fetch(PATHS[caller], { body, headers: { 'x-gateway-strict': 'true' } });
      expect(strict.status).toBe(400);
      expect(await strict.text()).toContain('.brand_new');
      expect(stack.first.requests).toEqual([]);
    }
  },
);

test('what one route cannot carry goes to the next one, and is refused only where none can', async () => {
  const logprobs = { top_logprobs: 2 };
  const carried = await stack.text.fetch('/v1/responses', {
    body: requestOf('responses', 'either', 'Hello', logprobs),
  });
  expect(carried.status).toBe(200);
  expect(carried.headers.get('x-gateway-channel')).toBe('responses');
  stack.first.reset();
  const refused = await stack.text.fetch('/v1/responses', {
    body: requestOf('responses', 'to-messages', 'Hello', logprobs),
  });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    error: { code: 'unsupported_parameter', param: 'top_logprobs' },
  });
  expect(stack.first.requests).toEqual([]);
});

test('a prompt needs a provider that keeps it, and is refused without one', async () => {
  const body = requestOf('responses', 'to-messages', 'Hello', { prompt: { id: 'x' } });
  const reply = await stack.text.fetch('/v1/responses', { body });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: 'prompt' } });
});

test('within one priority a route of the own protocol comes first, whatever the weights', async () => {
  const reply = await stack.text.fetch('/v1/messages', { body: requestOf('messages', 'mixed', 'Hello') });
  expect(reply.headers.get('x-gateway-channel')).toBe('messages');
});

test('a translated route is the reserve of one that passes', async () => {
  stack.first.script({ status: 503 });
  const reply = await stack.text.fetch('/v1/messages', { body: requestOf('messages', 'spare', 'Hello') });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('x-gateway-channel')).toBe('reserve');
});

test("the other protocol gets its own headers and none of the caller's", async () => {
  await stack.text.fetch('/v1/messages?beta=true', {
    body: requestOf('messages', 'to-chat', 'Hello'),
    headers: {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'x',
      'openai-beta': 'y',
      'user-agent': 'caller/1',
    },
  });
  const { url, headers } = await stack.first.nextRequest();
  expect(url).toBe('/v1/chat/completions');
  expect(headers).toMatchObject({ 'user-agent': 'caller/1', authorization: 'Bearer k' });
  expect(Object.keys(headers).filter((name) => /^(anthropic|openai)-/.test(name))).toEqual([]);
  await stack.text.fetch('/v1/responses', { body: requestOf('responses', 'to-messages', 'Hello') });
  expect((await stack.first.nextRequest()).headers).toMatchObject({ 'anthropic-version': '2023-06-01' });
});

test.for(TRANSLATED_PAIRS)(
  '$caller over $target: an upstream that streams unrequested, or answers whole instead, is still understood',
  async ({ caller, target, model }) => {
    // The simulator's own whole reply and its own stream, each played where the other was requested.
    const own = requestOf(target, model, 'Hello there');
    const whole = await (await stack.text.fetch(PATHS[target], { body: own })).json();
    const sse = await (await stack.text.fetch(PATHS[target], { body: { ...own, stream: true } })).text();
    stack.first.script({ json: whole });
    const streamed = await stack.text.fetch(PATHS[caller], {
      body: requestOf(caller, model, 'Hello', { stream: true }),
    });
    const events = await collectSse(streamed);
    expect(JSON.stringify(events)).toContain('You said: Hello there');
    stack.first.script({ sse });
    const collected = await stack.text.fetch(PATHS[caller], { body: requestOf(caller, model, 'Hello') });
    expect(JSON.stringify(await collected.json())).toContain('You said: Hello there');
  },
);

const paused = (more: object) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-5',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
  ...more,
});
const SEARCH = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'whales' } };
const FOUND = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };

const asStream = (message: {
  content: readonly { readonly type: string; readonly [member: string]: unknown }[];
  stop_reason: string;
}): string =>
  [
    { type: 'message_start', message: paused({ content: [], stop_reason: null }) },
    ...message.content.flatMap((block, index) => [
      {
        type: 'content_block_start',
        index,
        content_block: block.type === 'text' ? { type: 'text', text: '' } : block,
      },
      ...('text' in block
        ? [{ type: 'content_block_delta', index, delta: { type: 'text_delta', text: block.text } }]
        : []),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: message.stop_reason, stop_sequence: null },
      usage: { input_tokens: 10, output_tokens: 5 },
    },
    { type: 'message_stop' },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');

test.for([false, true])('what Claude pauses is continued as one answer (streamed: %s)', async (stream) => {
  const first = {
    content: [{ type: 'text', text: 'Let me look. ' }, SEARCH, FOUND],
    stop_reason: 'pause_turn',
  };
  const second = { content: [{ type: 'text', text: 'Whales were saved.' }], stop_reason: 'end_turn' };
  for (const reply of [first, second])
    stack.first.script(stream ? { sse: asStream(reply) } : { json: paused(reply) });
  const requestId = `req_pause_${stream}`;
  const reply = await stack.text.fetch('/v1/responses', {
    body: requestOf('responses', 'to-messages', 'Search the web', {
      stream,
      tools: [{ type: 'web_search' }],
    }),
    headers: { 'x-request-id': requestId },
  });
  const text = await reply.text();
  expect(text).toContain('Let me look. ');
  expect(text).toContain('Whales were saved.');
  expect(text.match(/event: response.completed/g) ?? []).toHaveLength(stream ? 1 : 0);
  await stack.first.nextRequest();
  const continued = await stack.first.nextRequest();
  expect(continued.json()).toMatchObject({
    messages: [
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'text', text: 'Let me look. ' }, SEARCH, FOUND] },
    ],
  });
  const line = await waitFor(() => stack.text.lines.find((it) => it.requestId === requestId));
  expect(line).toMatchObject({ outcome: 'ok', inputTokens: 20, outputTokens: 10 });
});

test('a pause that cannot be continued ends as an error, not as an answer', async () => {
  stack.first.script({
    sse: asStream({ content: [{ type: 'text', text: 'Let me look. ' }], stop_reason: 'pause_turn' }),
  });
  stack.first.script({ status: 500 });
  const reply = await stack.text.fetch('/v1/responses', {
    body: requestOf('responses', 'to-messages', 'Search', { stream: true, tools: [{ type: 'web_search' }] }),
  });
  const events = await collectSse(reply);
  expect(events.slice(-3).map(({ event, data }) => event ?? data)).toEqual([
    'error',
    'response.failed',
    '[DONE]',
  ]);
});

test.for(['messages', 'chat'] as const)(
  'responses over %s: a response that is reported as stored can be read back, and no other',
  async (target) => {
    const send = (body: object, headers = {}) =>
      stack.text.fetch('/v1/responses', { body: { model: `to-${target}`, input: 'hi', ...body }, headers });
    for (const body of [{}, { store: true }, { store: null }]) {
      const reply = await send(body, { 'x-gateway-strict': 'true' });
      expect(reply.headers.get('x-gateway-dropped')).toBe(null);
      const made = Object(await reply.json());
      expect(made.store).toBe(true);
      expect(await (await stack.text.fetch(`/v1/responses/${made.id}`)).json()).toEqual(made);
    }
    const streamed = await collectSse(await send({ stream: true }));
    const objects = streamed.flatMap(({ json }) => Object(json).response ?? []);
    expect(objects.map(({ store }) => store)).toEqual([true, true, true]);
    const last = objects.at(-1);
    expect(await (await stack.text.fetch(`/v1/responses/${last.id}`)).json()).toEqual(last);

    const unstored = Object(await (await send({ store: false })).json());
    expect(unstored.store).toBe(false);
    expect((await stack.text.fetch(`/v1/responses/${unstored.id}`)).status).toBe(404);
  },
);
