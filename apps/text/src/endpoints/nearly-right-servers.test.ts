import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../testing/start-stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first, second) => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k, cooldown: off }
  two: { provider: simulator, baseUrl: "${second}", apiKey: k, cooldown: off }
models:
  alone: { kind: text, routes: [{ channel: one }] }
  both: { kind: text, routes: [{ channel: one, priority: 0 }, { channel: two, priority: 1 }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

let requests = 0;
async function chat(model: string, stream: boolean) {
  requests += 1;
  const id = `req_nearly_${requests}`;
  const reply = await stack.text.fetch('/v1/chat/completions', {
    body: { model, messages: [{ role: 'user', content: 'hi' }], stream },
    headers: { 'x-request-id': id },
  });
  const line = () => waitFor(() => stack.text.lines.find(({ requestId }) => requestId === id));
  return { reply, line };
}

const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'chatcmpl_1', choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;
const USAGE = 'data: {"id":"chatcmpl_1","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\n';
const WHOLE_STREAM =
  chunk({ role: 'assistant', content: '' }) +
  chunk({ content: 'Hel', reasoning_content: 'Hm' }) +
  chunk({ content: 'lo' }) +
  chunk({
    tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'a', arguments: '{"b"' } }],
  }) +
  chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }) +
  chunk({}, { finish_reason: 'tool_calls' }) +
  USAGE;

test.for([
  [{ id: 'gen-1', choices: null, error: { message: 'x', code: 429 } }, 429],
  [{ id: 'a', choices: [{ index: 0, error: { code: 503, message: 'x' }, message: { content: '' } }] }, 503],
  [{ id: 'a', choices: [{ index: 0, message: { content: 'Ha' }, finish_reason: 'error' }] }, 502],
  [{ object: 'error', message: 'x', code: 500 }, 502],
  [{ id: 'a', choices: null }, 502],
] as const)(
  'a completion that is %j is no answer: another channel answers, and alone it is a %d',
  async ([json, status]) => {
    stack.first.script({ json });
    const { reply, line } = await chat('both', false);
    expect(reply.headers.get('x-gateway-channel')).toBe('two');
    expect(await line()).toMatchObject({ outcome: 'ok', attempts: 2 });
    stack.first.script({ json });
    expect((await chat('alone', false)).reply.status).toBe(status);
  },
);

test.for([
  'data: [DONE]\n\n',
  'data: {"object":"error","message":"x","type":"InternalServerError","code":500}\n\n',
  chunk({ role: 'assistant', content: '' }) + chunk({}, { finish_reason: 'abort' }),
])('a stream that begins with %j is no answer: another channel answers', async (sse) => {
  stack.first.script({ sse });
  const { reply, line } = await chat('both', true);
  expect((await collectSse(reply)).at(-1)?.data).toBe('[DONE]');
  expect(await line()).toMatchObject({ outcome: 'ok', attempts: 2, channel: 'two' });
});

test.for([
  'data: {"object":"error","message":"Engine died","type":"InternalServerError","code":500}\n\n',
  'data: {"id":"a","choices":[{"index":0,"delta":{},"error":{"message":"Engine died","code":502}}]}\n\n',
  chunk({}, { finish_reason: 'insufficient_system_resource' }),
])("after output %j ends the stream with the protocol's error, as failed", async (failure) => {
  stack.first.script({ sse: `${chunk({ content: 'Hel' })}${failure}data: [DONE]\n\n` });
  const { reply, line } = await chat('alone', true);
  const events = await collectSse(reply);
  expect(events).toHaveLength(2);
  expect(events[1]?.json).toMatchObject({ error: { message: expect.any(String) } });
  expect(await line()).toMatchObject({ outcome: 'failed' });
});

test.for(['application/json', 'text/plain', 'Text/Event-Stream'])(
  'a stream under %s is a stream for who streams, and a whole reply for who does not',
  async (type) => {
    const scripted = {
      status: 200,
      body: `${WHOLE_STREAM}data: [DONE]\n\n`,
      headers: { 'content-type': type },
    };
    stack.first.script(scripted);
    const streamed = await chat('alone', true);
    expect(streamed.reply.headers.get('content-type')).toContain('text/event-stream');
    expect(await streamed.reply.text()).toContain('"content":"lo"');
    stack.first.script(scripted);
    const { reply, line } = await chat('alone', false);
    expect(reply.headers.get('content-type')).toBe('application/json');
    expect(await reply.json()).toMatchObject({
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Hello',
            reasoning_content: 'Hm',
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'a', arguments: '{"b":1}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 5, completion_tokens: 2 },
    });
    expect(await line()).toMatchObject({ outcome: 'ok', inputTokens: 5, outputTokens: 2 });
  },
);

test('a completion without its [DONE] is whole, and gets it', async () => {
  stack.first.script({ sse: WHOLE_STREAM });
  const { reply, line } = await chat('alone', true);
  expect((await collectSse(reply)).at(-1)?.data).toBe('[DONE]');
  expect(await line()).toMatchObject({ outcome: 'ok', inputTokens: 5, outputTokens: 2 });
});

test.for([
  [
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: 'hi' }] },
    `${WHOLE_STREAM}data: [DONE]\n\n`,
    8,
  ],
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }, WHOLE_STREAM, 7],
  [
    '/v1/responses',
    { input: 'hi' },
    'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}\n\n' +
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"Hi"}\n\n' +
      'event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[],"usage":{"input_tokens":5,"output_tokens":2}}}\n\n',
    3,
  ],
  [
    '/v1/messages',
    { messages: [{ role: 'user', content: 'hi' }], max_tokens: 9 },
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":5}}}\n\n' +
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n' +
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}\n\n',
    4,
  ],
] as const)(
  '%s: an answer ends where its upstream leaves the connection open behind it',
  async ([path, body, sse, events]) => {
    const id = `req_open_${path}_${events}`.replaceAll('/', '_');
    stack.first.script({ sse: `${sse}: never comes\n\n`, stallAfter: events });
    const reply = await stack.text.fetch(path, {
      body: { model: 'alone', stream: true, ...body },
      headers: { 'x-request-id': id },
    });
    const text = await reply.text();
    if (path === '/v1/messages') expect(text).toContain('event: message_stop');
    if (path === '/v1/chat/completions') expect(text.match(/\[DONE\]/g)).toHaveLength(1);
    const line = await waitFor(() => stack.text.lines.find(({ requestId }) => requestId === id));
    expect(line).toMatchObject({ outcome: 'ok', outputTokens: 2 });
  },
);
