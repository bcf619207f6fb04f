import { recordedStream, recordedStreamNames } from '@gateway/simulator/recorded-stream';
import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Stack } from './testing/start-stack.ts';
import { startPairs } from './testing/text-pairs.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startPairs({
    models: '  plain: { kind: text, routes: [{ channel: chat }, { channel: messages }] }',
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => stack.first.reset());

const PATH = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Hello' }];

test('request and reply pass byte for byte, with members that nobody has heard of', async () => {
  const sent =
    '{ "messages":[{"role":"user","content":"h\\u00e9 🐳","new":1.0e2}],"model":"plain","stream":false,"brand_new":{"model":"x"} }';
  const json = { id: 'chatcmpl_1', choices: [], brand_new: [1.5, null] };
  stack.first.script({ json });
  const reply = await stack.text.fetch(PATH, { body: sent });
  expect((await stack.first.nextRequest()).text()).toBe(sent);
  expect(await reply.text()).toBe(JSON.stringify(json));
  await stack.text.fetch(PATH, { body: sent.replace('plain', 'to-chat') });
  expect((await stack.first.nextRequest()).text()).toBe(sent.replace('plain', 'open-model'));
});

const CHAT_STREAMS = recordedStreamNames().filter((name) => name.startsWith('chat'));

test.for(CHAT_STREAMS.flatMap((name) => (['events', 'bytes'] as const).map((cuts) => [name, cuts] as const)))(
  'the stream %s, sent as %s, arrives byte for byte',
  async ([name, cuts]) => {
    const sse = recordedStream(name);
    stack.first.script({ sse, cuts });
    const reply = await stack.text.fetch(PATH, { body: { model: 'plain', messages, stream: true } });
    expect(Buffer.from(await reply.arrayBuffer()).toString()).toBe(sse.toString());
  },
);

const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'chatcmpl_1', choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;

test.for([
  ['after finish_reason', chunk({ content: 'Hi' }) + chunk({}, { finish_reason: 'stop' })],
  ['with [DONE] alone', `${chunk({ content: 'Hi' })}data: [DONE]\n\n`],
  ['without a last blank line', `${chunk({ content: 'Hi' })}data: [DONE]\n`],
] as const)('a stream that closes %s was whole', async ([, sse]) => {
  stack.first.script({ sse });
  const reply = await stack.text.fetch(PATH, { body: { model: 'plain', messages, stream: true } });
  expect(await reply.text()).toBe(sse);
});

test.for([
  ['closes', { endAfter: 2 }],
  ['is cut', { cutAfter: 2 }],
  ['turns to garbage', { garbageAfter: 2 }],
] as const)(
  'a stream that %s before any finish_reason ends in an error and counts as failed',
  async ([how, fault]) => {
    stack.first.script({ tokens: 20, ...fault });
    const requestId = `req_chat_${how.replaceAll(' ', '_')}`;
    const reply = await stack.text.fetch(PATH, {
      body: { model: 'plain', messages, stream: true },
      headers: { 'x-request-id': requestId },
    });
    const events = await collectSse(reply);
    expect(JSON.parse(events.at(-1)?.data ?? '')).toEqual({
      error: { message: expect.any(String), type: 'server_error', param: null, code: 'upstream_error' },
    });
    const line = await waitFor(() => stack.text.lines.find((it) => it.requestId === requestId));
    expect(line.outcome).not.toBe('ok');
  },
);

test('of several answers each must have come to its end', async () => {
  const of = (index: number, finish_reason: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index, delta: { content: 'Hi' }, finish_reason }] })}\n\n`;
  const ask = async (sse: string) => {
    stack.first.script({ sse });
    const body = { model: 'plain', messages, stream: true, n: 2 };
    return (await stack.text.fetch(PATH, { body })).text();
  };
  const begun = of(0, null) + of(1, null) + of(0, 'stop');
  expect(await ask(begun + of(1, 'stop'))).not.toContain('error');
  expect(await ask(begun)).toContain('"error"');
});

test('usage is read on the side where the caller asked for it, and estimated where not', async () => {
  const ask = async (requestId: string, more: object) => {
    const reply = await stack.text.fetch(PATH, {
      body: { model: 'plain', messages, stream: true, ...more },
      headers: { 'x-request-id': requestId },
    });
    await reply.text();
    return waitFor(() => stack.text.lines.find((it) => it.requestId === requestId));
  };
  const told = await ask('req_chat_usage', { stream_options: { include_usage: true } });
  expect(told).toMatchObject({
    outcome: 'ok',
    inputTokens: expect.any(Number),
    outputTokens: expect.any(Number),
  });
  expect(told).not.toHaveProperty('usageEstimated');
  expect(await ask('req_chat_no_usage', {})).toMatchObject({
    outputTokens: expect.any(Number),
    usageEstimated: true,
  });
  expect((await stack.first.nextRequest()).json()).toHaveProperty('stream_options');
  expect((await stack.first.nextRequest()).json()).not.toHaveProperty('stream_options');
});

test.for([
  [{ messages }, 'missing_required_parameter', 'model'],
  [{ model: 'plain' }, 'missing_required_parameter', 'messages'],
  [{ model: 'plain', messages: [] }, 'array_below_min_length', 'messages'],
  [{ model: 'plain', messages: [{ role: 'wizard', content: 'x' }] }, 'invalid_value', 'messages[0].role'],
  [{ model: 'plain', messages: [{ role: 'user' }] }, 'missing_required_parameter', 'messages[0].content'],
  [
    { model: 'plain', messages: [{ role: 'tool', content: 'x' }] },
    'missing_required_parameter',
    'messages[0].tool_call_id',
  ],
  [{ model: 'plain', messages, temperature: 3 }, 'decimal_above_max_value', 'temperature'],
  [{ model: 'plain', messages, temperature: 'hot' }, 'invalid_type', 'temperature'],
  [{ model: 'plain', messages, presence_penalty: -3 }, 'decimal_below_min_value', 'presence_penalty'],
  [{ model: 'plain', messages, n: 0 }, 'integer_below_min_value', 'n'],
  [{ model: 'plain', messages, max_completion_tokens: 1.5 }, 'invalid_type', 'max_completion_tokens'],
  [{ model: 'plain', messages, stream: 'yes' }, 'invalid_type', 'stream'],
  [{ model: 'plain', messages, stop: ['a', 'b', 'c', 'd', 'e'] }, 'array_above_max_length', 'stop'],
  [
    { model: 'plain', messages, tools: [{ type: 'function', function: {} }] },
    'missing_required_parameter',
    'tools[0].function.name',
  ],
  [
    { model: 'plain', messages, response_format: { type: 'json_schema' } },
    'missing_required_parameter',
    'response_format.json_schema',
  ],
  [{ model: 'plain', messages, reasoning_effort: 'much' }, 'invalid_value', 'reasoning_effort'],
] as const)('%j is refused as %s at %s', async ([body, code, param]) => {
  const reply = await stack.text.fetch(PATH, { body });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { type: 'invalid_request_error', code, param } });
  expect(stack.first.requests).toEqual([]);
});

test('null means absent, and a message may have parts of kinds that only the provider knows', async () => {
  const reply = await stack.text.fetch(PATH, {
    body: {
      model: 'plain',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      temperature: null,
      tools: null,
      stop: null,
      n: null,
      response_format: null,
    },
  });
  expect(reply.status).toBe(200);
});
