import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../testing/start-stack.ts';
import { PATHS, requestOf, TEXT_PROTOCOLS, type TextProtocolName } from '../testing/text-pairs.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first, second) => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k, cooldown: off }
  two: { provider: simulator, baseUrl: "${second}", apiKey: k, cooldown: off }
${TEXT_PROTOCOLS.map((name) => `  ${name}: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [${name}], cooldown: off }`).join('\n')}
models:
${TEXT_PROTOCOLS.map((name) => `  over-${name}: { kind: text, routes: [{ channel: ${name} }, { channel: two, priority: 1 }] }`).join('\n')}
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
  [{ id: 'a', choices: [{ index: 0, message: null, finish_reason: null }] }, 502],
  [{}, 502],
  [{ message: 'Internal server error' }, 502],
  [{ status: 'error', message: 'x' }, 502],
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

const ids = { of: 0 };
/** A request whose log line is known. */
async function send(caller: TextProtocolName, model: string, stream: boolean) {
  ids.of += 1;
  const id = `req_sent_${ids.of}`;
  const body = requestOf(caller, model, 'hi', { stream });
  const reply = await stack.text.fetch(PATHS[caller], { body, headers: { 'x-request-id': id } });
  const line = () => waitFor(() => stack.text.lines.find(({ requestId }) => requestId === id));
  return { reply, line };
}
const named = (type: string, more: object = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

const BEGUN: Readonly<Record<TextProtocolName, string>> = {
  responses:
    named('response.created', { response: { id: 'resp_1', status: 'in_progress', output: [] } }) +
    named('response.output_item.added', {
      output_index: 0,
      item: { type: 'message', id: 'm', content: [] },
    }) +
    named('response.output_text.delta', { item_id: 'm', output_index: 0, content_index: 0, delta: 'Hi' }),
  messages:
    named('message_start', {
      message: { id: 'msg_1', type: 'message', content: [], usage: { input_tokens: 5 } },
    }) +
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hi' } }),
  chat: chunk({ role: 'assistant', content: 'Hi' }),
};
/** The rest of a whole answer. */
const ENDED: Readonly<Record<TextProtocolName, string>> = {
  responses:
    named('response.output_item.done', {
      output_index: 0,
      item: { type: 'message', id: 'm', content: [{ type: 'output_text', text: 'Hi' }] },
    }) +
    named('response.completed', {
      response: {
        id: 'resp_1',
        object: 'response',
        status: 'completed',
        output: [],
        usage: { input_tokens: 5, output_tokens: 2 },
      },
    }),
  messages:
    named('content_block_stop', { index: 0 }) +
    named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
  chat: chunk({}, { finish_reason: 'stop' }) + USAGE,
};
/** How a caller of each protocol is shown that its stream broke. */
const BROKEN: Readonly<Record<TextProtocolName, string>> = {
  responses: 'event: response.failed',
  messages: 'event: error',
  chat: '"error":{',
};
const PAIRS = TEXT_PROTOCOLS.flatMap((caller) => TEXT_PROTOCOLS.map((target) => [caller, target] as const));

test.for(TEXT_PROTOCOLS)('%s: a reply without an answer is none: another channel answers', async (caller) => {
  const noContent = { id: 'msg_1', type: 'message', content: null, stop_reason: 'end_turn' };
  for (const json of [{}, { message: 'x' }, { status: 'error', message: 'x' }, { detail: 'x' }, noContent]) {
    for (const stream of [false, true]) {
      stack.first.script({ json });
      const { reply, line } = await send(caller, `over-${caller}`, stream);
      expect(reply.headers.get('x-gateway-channel')).toBe('two');
      await reply.text();
      expect(await line()).toMatchObject({ outcome: 'ok', attempts: 2 });
    }
  }
});

test.for(PAIRS)(
  "%s over %s: an error in any server's words ends a begun stream, though the connection stays open",
  async ([caller, target]) => {
    for (const failure of [
      'data: {"error":{"message":"Engine died","code":503}}\n\n',
      'data: {"error":"Engine died"}\n\n',
      'data: {"object":"error","message":"Engine died","code":500}\n\n',
      'data: {"detail":"Engine died"}\n\n',
      'data: {"message":"Engine died"}\n\n',
      'data: {"code":"InternalError","message":"Engine died"}\n\n',
      'event: error\ndata: {"message":"Engine died"}\n\n',
      'event: error\ndata: {"text":"Engine died"}\n\n',
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Engine died"}}\n\n',
      'event: error\ndata: {"type":"error","code":"server_error","message":"Engine died","param":null}\n\n',
    ]) {
      const sse = BEGUN[target] + failure;
      const stallAfter = sse.split('\n\n').length - 1;
      stack.first.script({ sse: `${sse}: never comes\n\n`, stallAfter });
      const { reply, line } = await send(caller, `over-${target}`, true);
      const text = await reply.text();
      expect(text).toContain('Hi');
      expect(text).toContain(BROKEN[caller]);
      expect(await line()).toMatchObject({ outcome: 'failed' });
    }
  },
);

test.for(PAIRS)(
  '%s over %s: a stream that nobody requested is put together, though its connection stays open',
  async ([caller, target]) => {
    const sse = BEGUN[target] + ENDED[target];
    const stallAfter = sse.split('\n\n').length - 1;
    stack.first.script({ sse: `${sse}: never comes\n\n`, stallAfter });
    const { reply, line } = await send(caller, `over-${target}`, false);
    expect(reply.headers.get('content-type')).toContain('application/json');
    const body = await reply.json();
    expect(JSON.stringify(body)).toContain('"Hi"');
    expect(Object(body).object ?? Object(body).type).toBe(
      { responses: 'response', messages: 'message', chat: 'chat.completion' }[caller],
    );
    expect(await line()).toMatchObject({ outcome: 'ok', inputTokens: 5, outputTokens: 2 });
  },
);

/** What is no event of any protocol. */
const ASIDES = 'event: ping\ndata: pong\n\ndata:\n\ndata: null\n\n';
const FORMS: Readonly<Record<string, (sse: string) => string>> = {
  'begins with a byte order mark': (sse) => `\ufeff${sse}`,
  'ends its lines in CR alone': (sse) => sse.replaceAll('\n', '\r'),
  'has blanks before its data': (sse) => sse.replaceAll('data: ', 'data:   '),
  'has frames that say nothing': (sse) => ASIDES + sse.replaceAll('\n\n', `\n\n${ASIDES}`),
  'lacks the end of its last line': (sse) => sse.trimEnd(),
};

test.for(PAIRS.flatMap((pair) => Object.keys(FORMS).map((form) => [...pair, form] as const)))(
  '%s over %s: a stream that %s is read like any other, streamed and put together',
  async ([caller, target, form]) => {
    const body = FORMS[form]?.(BEGUN[target] + ENDED[target]) ?? '';
    for (const stream of [true, false]) {
      stack.first.script({ status: 200, body, headers: { 'content-type': 'text/event-stream' } });
      const { reply, line } = await send(caller, `over-${target}`, stream);
      if (stream) {
        const shown = (await collectSse(reply)).map(({ data, json }) => Object(json).type ?? data);
        expect(shown).toContain(ENDS[caller]);
        for (const aside of ['pong', 'null', '']) expect(shown).not.toContain(aside);
      } else expect(await reply.text()).toContain('"Hi"');
      expect(await line()).toMatchObject({ outcome: 'ok', attempts: 1, inputTokens: 5, outputTokens: 2 });
    }
  },
);
const LINES_TYPES = ['application/x-ndjson', 'application/jsonl', 'text/event-stream'] as const;
test.for(PAIRS)(
  '%s over %s: a stream that is lines of JSON is read like events, streamed and put together',
  async ([caller, target]) => {
    const events = (BEGUN[target] + ENDED[target]).split('\n').filter((line) => line.startsWith('data: '));
    const body = events.map((line) => line.slice('data: '.length)).join('\n');
    const types = [...LINES_TYPES, 'application/json', 'text/plain'];
    for (const { type, stream } of types.flatMap((type) =>
      [true, false].map((stream) => ({ type, stream })),
    )) {
      stack.first.script({ status: 200, body, headers: { 'content-type': type } });
      const { reply, line } = await send(caller, `over-${target}`, stream);
      if (stream) {
        const shown = await collectSse(reply);
        expect(shown.map(({ data, json }) => Object(json).type ?? data)).toContain(ENDS[caller]);
        // Anthropic's clients go by the names of events.
        if (caller === 'messages') expect(shown.map(({ event }) => event)).toContain('message_stop');
      } else expect(await reply.text()).toContain('"Hi"');
      expect(await line()).toMatchObject({ outcome: 'ok', attempts: 1, inputTokens: 5, outputTokens: 2 });
    }
  },
);

/** The end that a caller of each protocol gets. */
const ENDS: Readonly<Record<TextProtocolName, string>> = {
  responses: 'response.completed',
  messages: 'message_stop',
  chat: '[DONE]',
};

test.for(TEXT_PROTOCOLS)('%s: a whole reply is read by its content, not by its type', async (caller) => {
  const whole = { responses: RESPONSE, messages: MESSAGE, chat: COMPLETION }[caller];
  for (const type of ['text/html', 'text/plain', 'application/json']) {
    for (const stream of [false, true]) {
      const body = `${type === 'application/json' ? '\ufeff' : ''}${JSON.stringify(whole)}`;
      stack.first.script({ status: 200, body, headers: { 'content-type': type } });
      const { reply, line } = await send(caller, `over-${caller}`, stream);
      expect(await reply.text()).toContain('"Hi"');
      expect(await line()).toMatchObject({ outcome: 'ok', attempts: 1, inputTokens: 5, outputTokens: 2 });
    }
  }
});
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  output: [{ type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }],
  usage: { input_tokens: 5, output_tokens: 2 },
};
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 5, output_tokens: 2 },
};
const COMPLETION = {
  id: 'chatcmpl_1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 2 },
};

test('a response without a status has ended, for who reads it and for who continues it', async () => {
  stack.first.script({ json: RESPONSE });
  const { reply } = await send('responses', 'over-responses', false);
  const made = Object(await reply.json());
  expect(made).toMatchObject({ status: 'completed', output: RESPONSE.output });
});

test('whole messages in a stream, and reports of usage in parts, are put together', async () => {
  const message = { role: 'assistant', content: 'Hi', reasoning_content: 'Hm' };
  const sse =
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, message }], usage: { prompt_tokens: 5 } })}\n\n` +
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 0, completion_tokens: 2 } })}\n\n`;
  stack.first.script({ sse });
  const { reply, line } = await send('chat', 'over-chat', false);
  expect(await reply.json()).toMatchObject({
    choices: [{ message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 2 },
  });
  expect(await line()).toMatchObject({ inputTokens: 5, outputTokens: 2 });
});

test('a message whose first event is missing is put together, with usage of its last event', async () => {
  const sse =
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hi' } }) +
    named('message_delta', { delta: { stop_reason: 'end_turn' } }) +
    named('message_stop', { usage: { input_tokens: 5, output_tokens: 2 } });
  for (const caller of ['messages', 'chat'] as const) {
    for (const stream of [false, true]) {
      stack.first.script({ sse });
      const { reply, line } = await send(caller, 'over-messages', stream);
      expect(await reply.text()).toContain('"Hi"');
      expect(await line()).toMatchObject({ outcome: 'ok', inputTokens: 5, outputTokens: 2 });
    }
  }
});

test('what a completion has reported of its usage counts where it breaks off', async () => {
  const usage = { prompt_tokens: 5, completion_tokens: 1 };
  const begun = `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: 'Hi' } }], usage })}\n\n`;
  for (const caller of TEXT_PROTOCOLS) {
    stack.first.script({ sse: begun + chunk({ content: '!' }), cutAfter: 2 });
    const { reply, line } = await send(caller, 'over-chat', true);
    await reply.text().catch(() => undefined);
    expect(await line()).toMatchObject({ outcome: 'failed', inputTokens: 5 });
  }
});

test('a finished completion without usage does not wait for it forever, passed, translated or put together', async () => {
  const sse = BEGUN.chat + chunk({}, { finish_reason: 'stop' });
  const answers = [
    ['chat', true],
    ['chat', false],
    ['messages', true],
    ['responses', false],
  ] as const;
  for (const _ of answers) stack.first.script({ sse: `${sse}: never comes\n\n`, stallAfter: 2 });
  await Promise.all(
    answers.map(async ([caller, stream]) => {
      const { reply, line } = await send(caller, 'over-chat', stream);
      expect(await reply.text()).toContain('Hi');
      expect(await line()).toMatchObject({ outcome: 'ok', usageEstimated: true });
    }),
  );
});

test('of several answers one that has ended is not the last', async () => {
  const sse =
    chunk({ content: 'Hi' }) + chunk({}, { finish_reason: 'stop' }) + chunk({ content: 'Ho' }, { index: 1 });
  stack.first.script({ sse });
  const { reply, line } = await chat('over-chat', true);
  expect(await reply.text()).not.toContain('[DONE]');
  expect(await line()).toMatchObject({ outcome: 'failed' });
});

test("Qwen's `null` is no end, and an empty delta with usage after the end begins no other answer", async () => {
  const usage = { prompt_tokens: 5, completion_tokens: 2 };
  const last = `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: '' }, finish_reason: null }], usage })}\n\n`;
  const sse = `${chunk({ content: 'H' }, { finish_reason: 'null' })}${chunk({ content: 'i' }, { finish_reason: 'null' })}`;
  stack.first.script({ sse: sse + chunk({}, { finish_reason: 'stop' }) + last });
  const { reply, line } = await chat('over-chat', true);
  expect((await collectSse(reply)).at(-1)?.data).toBe('[DONE]');
  expect(await line()).toMatchObject({ outcome: 'ok', outputTokens: 2 });
  stack.first.script({ sse });
  const translated = await send('messages', 'over-chat', true);
  expect(await translated.reply.text()).toContain('event: error');
});
