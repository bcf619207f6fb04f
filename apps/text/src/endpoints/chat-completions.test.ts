import { recordedStream, recordedStreamNames } from '@gateway/simulator/recorded-stream';
import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Stack } from '../testing/start-stack.ts';
import { startPairs } from '../testing/text-pairs.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startPairs({
    models: `
  plain: { kind: text, routes: [{ channel: chat }, { channel: messages }] }
  once: { kind: text, routes: [{ channel: chat }], fallback: { maxAttempts: 1 } }`,
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
  ['after finish_reason', chunk({}, { finish_reason: 'stop' }), ''],
  ['with [DONE] alone', '', 'data: [DONE]\n\n'],
  ['without a last blank line', '', 'data: [DONE]\n'],
] as const)('a stream that closes %s was whole, and ends as the protocol ends', async ([, finish, end]) => {
  const said = chunk({ content: 'Hi' }) + finish;
  stack.first.script({ sse: said + end });
  const reply = await stack.text.fetch(PATH, { body: { model: 'plain', messages, stream: true } });
  expect(await reply.text()).toBe(`${said}data: [DONE]\n\n`);
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
  const textOf = async (sse: string) => {
    stack.first.script({ sse });
    const body = { model: 'plain', messages, stream: true, n: 2 };
    return (await stack.text.fetch(PATH, { body })).text();
  };
  const begun = of(0, null) + of(1, null) + of(0, 'stop');
  expect(await textOf(begun + of(1, 'stop'))).not.toContain('error');
  expect(await textOf(begun)).toContain('"error"');
});

const stream = async (requestId: string, more: object = {}) => {
  const reply = await stack.text.fetch(PATH, {
    body: { model: 'plain', messages, stream: true, ...more },
    headers: { 'x-request-id': requestId },
  });
  const events = (await collectSse(reply)).map(({ json }) => Object(json));
  const line = await waitFor(() => stack.text.lines.find((it) => it.requestId === requestId));
  return { events, line };
};
const usageChunks = (events: readonly { usage?: unknown; choices?: unknown[] }[]) =>
  events.filter(({ usage, choices }) => usage && choices?.length === 0);

test('usage is always requested upstream, and shown to a caller who requested it', async () => {
  const requested = await stream('req_chat_usage', { stream_options: { include_usage: true } });
  const silent = await stream('req_chat_no_usage');
  const refused = await stream('req_chat_not_wanted', {
    stream_options: { include_usage: false, include_obfuscation: false },
  });
  expect(usageChunks(requested.events)).toHaveLength(1);
  expect(usageChunks([...silent.events, ...refused.events])).toEqual([]);
  expect(silent.events).toHaveLength(requested.events.length - 1);
  for (const { line } of [requested, silent, refused]) {
    expect(line).toMatchObject({ outcome: 'ok', outputTokens: requested.line.outputTokens });
    expect(line).not.toHaveProperty('usageEstimated');
  }
  const sent = async () => Object((await stack.first.nextRequest()).json()).stream_options;
  expect(await sent()).toEqual({ include_usage: true });
  expect(await sent()).toEqual({ include_usage: true });
  expect(await sent()).toEqual({ include_usage: true, include_obfuscation: false });
});

test('reasoning is charged where the caller did not request usage', async () => {
  const answer = chunk({ content: 'Hi' }) + chunk({}, { finish_reason: 'stop' });
  const usage = {
    prompt_tokens: 8,
    completion_tokens: 23,
    completion_tokens_details: { reasoning_tokens: 20 },
  };
  const sse = `${answer}data: ${JSON.stringify({ id: 'chatcmpl_1', choices: [], usage })}\n\ndata: [DONE]\n\n`;
  for (const cuts of ['whole', 'bytes'] as const) {
    stack.first.script({ sse, cuts });
    const requestId = `req_chat_reasoning_${cuts}`;
    const reply = await stack.text.fetch(PATH, {
      body: { model: 'plain', messages, stream: true },
      headers: { 'x-request-id': requestId },
    });
    expect(await reply.text()).toBe(`${answer}data: [DONE]\n\n`);
    const line = await waitFor(() => stack.text.lines.find((it) => it.requestId === requestId));
    expect(line).toMatchObject({ inputTokens: 8, outputTokens: 23, reasoningTokens: 20 });
  }
});

test('a count with a fraction is charged as the next whole number', async () => {
  const usage = { prompt_tokens: 12.5, completion_tokens: 3 };
  const json = { id: 'chatcmpl_1', choices: [{ index: 0, message: { content: 'Hi' } }], usage };
  stack.first.script({ json });
  await stack.text.fetch(PATH, {
    body: { model: 'plain', messages },
    headers: { 'x-request-id': 'req_chat_fraction' },
  });
  const line = await waitFor(() => stack.text.lines.find((it) => it.requestId === 'req_chat_fraction'));
  expect(line).toMatchObject({ outcome: 'ok', inputTokens: 13, outputTokens: 3 });
  expect(line).not.toHaveProperty('usageEstimated');
});

test('for a server that does not know stream_options the request is retried without them, and its usage estimated', async () => {
  const error = {
    message: 'Unrecognized request argument supplied: stream_options',
    type: 'invalid_request_error',
  };
  stack.first.script({ status: 400, json: { error } });
  const { line } = await stream('req_chat_unknown_option');
  expect(line).toMatchObject({ outcome: 'ok', usageEstimated: true });
  expect((await stack.first.nextRequest()).json()).toHaveProperty('stream_options');
  expect((await stack.first.nextRequest()).json()).not.toHaveProperty('stream_options');
});

test('where the model allows no further attempt, the caller gets the refusal and not that all channels are busy', async () => {
  const error = { message: 'Unrecognized request argument supplied: stream_options' };
  stack.first.script({ status: 400, json: { error } });
  const reply = await stack.text.fetch(PATH, { body: { model: 'once', messages, stream: true } });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error });
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
