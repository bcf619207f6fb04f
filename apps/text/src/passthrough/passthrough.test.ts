import { recordedStream, recordedStreamNames } from '@gateway/simulator/recorded-stream';
import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { PLAIN, type Stack, startStack } from '../testing/start-stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ configuration: PLAIN });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const PATHS = { responses: '/v1/responses', messages: '/v1/messages' } as const;
const BODIES = {
  responses:
    '{ "model" : "MODEL",\r\n "input":"h\\u00e9 \\/ 🐳", "new_member": {"model":"x", "n": 1.0e2}, "stream":STREAM }',
  messages:
    '{"messages":[{"role":"user","content":"hé"}],"max_tokens":5,"model":"MODEL","context_management":{"edits":[ ]},"stream":STREAM}\n',
} as const;

const bodyFor = (protocol: 'responses' | 'messages', model: string, stream = false) =>
  BODIES[protocol].replace('MODEL', model).replace('STREAM', String(stream));

test.for(['responses', 'messages'] as const)(
  '%s: the upstream gets the very bytes that the caller sent',
  async (protocol) => {
    const sent = bodyFor(protocol, 'gpt-5.2');
    await stack.text.fetch(PATHS[protocol], { body: sent });
    expect((await stack.first.nextRequest()).text()).toBe(sent);
  },
);

test.for(['responses', 'messages'] as const)(
  '%s: where the channel has another name for the model, that name alone changes',
  async (protocol) => {
    await stack.text.fetch(PATHS[protocol], { body: bodyFor(protocol, 'alias') });
    expect((await stack.first.nextRequest()).text()).toBe(bodyFor(protocol, 'gpt-5.2'));
  },
);

test.for(['responses', 'messages'] as const)(
  '%s: the caller gets the very bytes that the upstream sent',
  async (protocol) => {
    const json = { id: 'x_1', extra: { nested: [1.5, null] }, text: 'hé' };
    stack.first.script({ json, headers: { 'openai-processing-ms': '7', 'anthropic-new': 'a' } });
    const reply = await stack.text.fetch(PATHS[protocol], { body: bodyFor(protocol, 'gpt-5.2') });
    expect(await reply.text()).toBe(JSON.stringify(json));
    expect(Number(reply.headers.get('content-length'))).toBe(Buffer.byteLength(JSON.stringify(json)));
  },
);

test('a large reply passes byte for byte, and its own usage counts, not the numbers in its texts and tools', async () => {
  const fake = ',"usage":{"input_tokens":1,"output_tokens":1},"x":"';
  const usage = { input_tokens: 31, output_tokens: 17, input_tokens_details: { cached_tokens: 5 } };
  const reply = {
    id: 'resp_large',
    status: 'completed',
    instructions: `"${fake}`.repeat(2000),
    tools: [{ type: 'function', name: 'a', parameters: { usage: { input_tokens: 2 } } }],
    output: [],
    usage,
    metadata: { usage: fake },
  };
  stack.first.script({ json: reply });
  const answer = await stack.text.fetch(PATHS.responses, {
    body: bodyFor('responses', 'gpt-5.2'),
    headers: { 'x-request-id': 'req_large_0001' },
  });
  expect(await answer.text()).toBe(JSON.stringify(reply));
  const line = await waitFor(() => stack.text.lines.find(({ requestId }) => requestId === 'req_large_0001'));
  expect(line).toMatchObject({ inputTokens: 31, outputTokens: 17, cachedInputTokens: 5 });
  expect(line.usageEstimated).toBeUndefined();
});

test('a large reply that breaks off is no answer', async () => {
  const broken = `{"id":"x_1","text":"${'x'.repeat(100_000)}`;
  stack.first.script({ status: 200, body: broken, headers: { 'content-type': 'application/json' } });
  const answer = await stack.text.fetch(PATHS.responses, { body: bodyFor('responses', 'gpt-5.2') });
  expect(answer.status).toBe(502);
});

const protocolOf = (name: string) => (name.startsWith('responses') ? 'responses' : 'messages');

test.for(
  recordedStreamNames().flatMap((name) =>
    (['events', 'bytes', 'whole'] as const).map((cuts) => [name, cuts] as const),
  ),
)('the stream %s, sent as %s, arrives byte for byte', async ([name, cuts]) => {
  const sse = recordedStream(name);
  stack.first.script({ sse, cuts });
  const protocol = protocolOf(name);
  const reply = await stack.text.fetch(PATHS[protocol], { body: bodyFor(protocol, 'gpt-5.2', true) });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(reply.headers.get('cache-control')).toBe('no-cache');
  expect(reply.headers.get('x-accel-buffering')).toBe('no');
  expect(Buffer.from(await reply.arrayBuffer()).toString()).toBe(sse.toString());
});

test('pings, comments, unknown events and line ends of another kind pass', async () => {
  const sse =
    ': hello\r\n\r\nevent: message_start\r\ndata: {"type":"message_start","message":{"id":"msg_1"}}\r\n\r\n' +
    'event: ping\ndata: {"type": "ping"}\n\nid: 5\nevent: brand_new\ndata: {"type":"brand_new"}\n\n' +
    'event: message_stop\ndata: {"type":"message_stop"}\n';
  stack.first.script({ sse, cuts: [3, 40, 41, 90] });
  const reply = await stack.text.fetch('/v1/messages', { body: bodyFor('messages', 'gpt-5.2', true) });
  // Strict clients drop a last event without its empty line.
  expect(await reply.text()).toBe(`${sse}\n`);
});

test('a stream that comes faster than the caller reads is held up and arrives whole', async () => {
  const delta = (index: number) => {
    const type = 'response.code_interpreter_call.interpreting';
    const data = { type, sequence_number: index, delta: 'x'.repeat(100_000) };
    return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  };
  const frames = Array.from({ length: 200 }, (_, index) => delta(index));
  const sse = `${frames.join('')}event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_1"}}\n\n`;
  stack.first.script({ sse });
  const reply = await stack.text.fetch('/v1/responses', { body: bodyFor('responses', 'patient', true) });
  expect((await reply.text()) === sse).toBe(true);
});

test('each event reaches the caller before the next one is sent', async () => {
  const resume = Promise.withResolvers<void>();
  stack.first.script({ sse: recordedStream('messages-text'), stallAfter: 4, resume: resume.promise });
  const reply = await stack.text.fetch('/v1/messages', { body: bodyFor('messages', 'patient', true) });
  const reader = reply.body?.getReader();
  let seen = '';
  while (!seen.includes('content_block_delta'))
    seen += Buffer.from((await reader?.read())?.value ?? []).toString();
  expect(seen).not.toContain('content_block_stop');
  resume.resolve();
  await reader?.cancel();
});

test("the protocol's headers travel on; another protocol's, and what concerns us alone, do not", async () => {
  await stack.text.fetch('/v1/messages?beta=true&x=%20y', {
    body: bodyFor('messages', 'gpt-5.2'),
    headers: {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'one-2025-01-01,brand-new-2027-01-01',
      'anthropic-something-new': '1',
      'openai-beta': 'x',
      'user-agent': 'caller/1',
      authorization: 'Bearer of the caller',
      'x-api-key': 'of the caller',
      cookie: 'of=the caller',
      'x-forwarded-for': '10.0.0.1',
      'x-gateway-strict': 'true',
    },
  });
  const { url, headers } = await stack.first.nextRequest();
  expect(url).toBe('/v1/messages?beta=true&x=%20y');
  expect(headers).toMatchObject({
    'anthropic-version': '2026-10-21',
    'anthropic-beta': 'one-2025-01-01,brand-new-2027-01-01',
    'anthropic-something-new': '1',
    'user-agent': 'caller/1',
    authorization: 'Bearer k',
  });
  const ours = Object.keys(headers).filter((name) =>
    /^(x-gateway-|x-forwarded-|x-api-key|cookie|x-request-id|openai-)/.test(name),
  );
  expect(ours).toEqual([]);
});

test("the upstream's headers of the protocol come back; its account, its cookies and its ids do not", async () => {
  stack.first.script({
    json: { id: 'resp_1' },
    headers: {
      'openai-version': '2020-10-01',
      'openai-model': 'gpt-5.2-2026',
      'x-codex-turn-state': 'abc',
      'openresponses-version': '2026-04-01',
      'x-request-id': 'req_of_the_upstream',
      'openai-organization': 'org-secret',
      'anthropic-ratelimit-requests-limit': '50',
      'x-ratelimit-limit-requests': '60',
      'set-cookie': 'a=b',
      server: 'cloud',
    },
  });
  const reply = await stack.text.fetch('/v1/responses', {
    body: bodyFor('responses', 'gpt-5.2'),
    headers: { 'x-request-id': 'req_of_the_caller' },
  });
  const headers = Object.fromEntries(reply.headers);
  expect(headers).toMatchObject({
    'openai-version': '2020-10-01',
    'openai-model': 'gpt-5.2-2026',
    'x-codex-turn-state': 'abc',
    'openresponses-version': '2026-04-01',
    'x-gateway-channel': 'one',
    'x-request-id': 'req_of_the_caller',
    'request-id': 'req_of_the_caller',
  });
  expect(Object.keys(headers).filter((name) => /ratelimit|organization|cookie|server/.test(name))).toEqual(
    [],
  );
});

test("an Anthropic upstream's refusal is relayed word for word with its status", async () => {
  const json = {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: 3 tokens > 2 maximum' },
  };
  stack.first.script({ status: 400, json });
  const reply = await stack.text.fetch('/v1/messages', { body: bodyFor('messages', 'gpt-5.2') });
  expect(reply.status).toBe(400);
  expect(await reply.text()).toBe(JSON.stringify(json));
});

test('one log line and the metrics record the outcome of a request', async () => {
  const { text, first } = stack;
  first.script({
    cachedTokens: 2,
    tokens: 9,
    json: { id: 'resp_9', usage: USAGE },
    headers: { 'x-request-id': 'req_up' },
  });
  await text.fetch('/v1/responses', {
    body: bodyFor('responses', 'alias'),
    headers: { 'x-request-id': 'req_line_0001' },
  });
  const line = await waitFor(() => text.lines.find(({ requestId }) => requestId === 'req_line_0001'));
  expect(line).toMatchObject({
    status: 200,
    outcome: 'ok',
    model: 'alias',
    upstreamModel: 'gpt-5.2',
    channel: 'one',
    stream: false,
    attempts: 1,
    upstreamStatus: 200,
    upstreamRequestId: 'req_up',
    responseId: 'resp_9',
    inputTokens: 11,
    cachedInputTokens: 2,
    outputTokens: 9,
    reasoningTokens: 4,
    firstByteMs: expect.any(Number),
  });
  expect(JSON.stringify(line)).not.toContain('hé');
  const metrics = await text.metrics.registry.metrics();
  expect(metrics).toMatch(
    /gateway_upstream_attempts_total\{channel="one",account="default",outcome="ok",service="text"\} \d/,
  );
  expect(metrics).toMatch(/gateway_tokens_total\{channel="one",kind="reasoning",service="text"\} \d/);
  expect(metrics).toMatch(/gateway_first_byte_seconds_count\{.*channel="one".*\} \d/);
});

const USAGE = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 2 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 4 },
};

test('the usage of a stream is in the log line too', async () => {
  stack.first.script({ sse: recordedStream('messages-thinking-and-text') });
  const reply = await stack.text.fetch('/v1/messages', {
    body: bodyFor('messages', 'gpt-5.2', true),
    headers: { 'x-request-id': 'req_line_0002' },
  });
  expect((await collectSse(reply)).at(-1)?.event).toBe('message_stop');
  const line = await waitFor(() => stack.text.lines.find(({ requestId }) => requestId === 'req_line_0002'));
  expect(line).toMatchObject({
    stream: true,
    outcome: 'ok',
    inputTokens: 31,
    outputTokens: 70,
    reasoningTokens: 64,
  });
});
