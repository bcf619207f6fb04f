import { collectSse } from '@gateway/testkit/collect-sse';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../testing/start-stack.ts';
import { PATHS, requestOf, TEXT_PROTOCOLS, type TextProtocolName } from '../testing/text-pairs.ts';

/** Answers of nearly right servers whose words stand in another form: every caller gets them in its own protocol's. */
let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first) => `
channels:
${TEXT_PROTOCOLS.map((name) => `  ${name}: { provider: openai-compatible, baseUrl: "${first}/v1", apiKey: k, speaks: [${name}], cooldown: off }`).join('\n')}
models:
${TEXT_PROTOCOLS.map((name) => `  over-${name}: { kind: text, routes: [{ channel: ${name} }] }`).join('\n')}
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => stack.first.reset());

type Event = { readonly type?: string; readonly [member: string]: unknown };

const sse = (events: readonly Event[], isTyped = true): string =>
  events
    .map(({ type, ...rest }) => {
      const data = isTyped && type !== undefined ? { type, ...rest } : rest;
      return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(data)}\n\n`;
    })
    .join('');

const WORDS = 'Hello there.';
const USAGE = { input_tokens: 5, output_tokens: 3, total_tokens: 8 };
const part = { type: 'output_text', text: WORDS, annotations: [] };
const item = {
  id: 'msg_a1b2c3d4e5f6',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [part],
};
const response = (status: string, output: object[]) => ({
  id: 'resp_a1b2c3d4e5f6',
  object: 'response',
  created_at: 1,
  model: 'm',
  status,
  output,
  ...(status === 'completed' && { usage: USAGE }),
});
const RESPONSES = (last: Event): readonly Event[] => [
  { type: 'response.created', response: response('in_progress', []) },
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { ...item, status: 'in_progress', content: [] },
  },
  { type: 'response.output_text.delta', item_id: item.id, output_index: 0, content_index: 0, delta: WORDS },
  { type: 'response.output_item.done', output_index: 0, item },
  last,
];
const COMPLETED = { type: 'response.completed', response: response('completed', [item]) };
const MESSAGES: readonly Event[] = [
  {
    type: 'message_start',
    message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], usage: USAGE },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: WORDS } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
];
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  stop_reason: 'end_turn',
  usage: USAGE,
};
const choice = { index: 0, logprobs: null, finish_reason: null };
const completion = { id: 'cmpl-1', object: 'text_completion', created: 1, model: 'm' };
const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };

const unnamed = (events: readonly Event[]): string => sse(events).replaceAll(/^event: .*\n/gm, '');
const PARTS = [{ type: 'text', text: WORDS }];
const said = (member: string, content: unknown) => ({
  ...choice,
  finish_reason: 'stop',
  [member]: { role: 'assistant', content },
});

const SHAPES: readonly (readonly [string, TextProtocolName, object])[] = [
  [
    'response.done as the last event',
    'responses',
    { sse: sse(RESPONSES({ ...COMPLETED, type: 'response.done' })) },
  ],
  ['names of events and no types', 'responses', { sse: sse(RESPONSES(COMPLETED), false) }],
  ['a last event without a response', 'responses', { sse: sse(RESPONSES({ type: 'response.completed' })) }],
  [
    'response.done without type or response',
    'responses',
    { sse: sse(RESPONSES({ type: 'response.done' }), false) },
  ],
  ['names of events and no types', 'messages', { sse: sse(MESSAGES, false) }],
  ['types and no names of events', 'messages', { sse: unnamed(MESSAGES) }],
  ['types and no names of events', 'responses', { sse: unnamed(RESPONSES(COMPLETED)) }],
  ...[WORDS, part].map((content): (typeof SHAPES)[number] => [
    'a message whose content is no list',
    'responses',
    { json: response('completed', [{ ...item, content }]) },
  ]),
  ['content that is one block', 'messages', { json: { ...MESSAGE, content: { type: 'text', text: WORDS } } }],
  ['content in parts', 'chat', { json: { ...completion, choices: [said('message', PARTS)], usage } }],
  [
    'content that is one part',
    'chat',
    { json: { ...completion, choices: [said('message', PARTS[0])], usage } },
  ],
  ...['[done]', 'DONE'].map((mark): (typeof SHAPES)[number] => [
    `deltas in parts, and ${mark} as the mark at the end`,
    'chat',
    {
      sse: `${sse([
        { ...completion, choices: [said('delta', PARTS)] },
        { ...completion, choices: [], usage },
      ])}data: ${mark}\n\n`,
    },
  ]),
  ['content that is a text', 'messages', { json: { ...MESSAGE, content: WORDS } }],
  [
    'chunks with text and no delta',
    'chat',
    {
      sse: `${sse([
        { ...completion, choices: [{ ...choice, text: 'Hello ' }] },
        { ...completion, choices: [{ ...choice, text: 'there.' }] },
        { ...completion, choices: [{ ...choice, text: '', finish_reason: 'stop' }], usage },
      ])}data: [DONE]\n\n`,
    },
  ],
  ...[
    ['each with the next piece', ['Hello ', 'there.', '']],
    ['each with the text so far', ['Hello ', 'Hello there.', 'Hello there.']],
    ['once, with all of it', [WORDS]],
  ].map(([how, texts]): (typeof SHAPES)[number] => [
    `chunks with messages and no deltas, ${how}`,
    'chat',
    {
      sse: `${sse([
        ...[texts].flat().map((text) => ({
          ...completion,
          choices: [{ ...choice, message: { role: 'assistant', content: text } }],
        })),
        { ...completion, choices: [{ ...choice, finish_reason: 'stop' }], usage },
      ])}data: [DONE]\n\n`,
    },
  ]),
  [
    'a choice with text and no message',
    'chat',
    { json: { ...completion, choices: [{ ...choice, text: WORDS, finish_reason: 'stop' }], usage } },
  ],
];

type Shown = Readonly<Record<string, unknown>>;
const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce((inner, step) => Object(inner ?? {})[step], value);

/** What the clients of each protocol show of a whole answer, and of a stream: by the types of its events alone. */
const WHOLE: Readonly<Record<TextProtocolName, (body: Shown) => unknown>> = {
  responses: (body) => at(body, 'output', 0, 'content', 0, 'text'),
  messages: (body) => at(body, 'content', 0, 'text'),
  chat: (body) => at(body, 'choices', 0, 'message', 'content'),
};
const STREAMED: Readonly<Record<TextProtocolName, (events: readonly Shown[]) => unknown>> = {
  responses: (events) => at(events.at(-1), 'response', 'output', 0, 'content', 0, 'text'),
  messages: (events) =>
    events
      .filter(({ type }) => type === 'content_block_delta')
      .map((event) => at(event, 'delta', 'text'))
      .join(''),
  chat: (events) => events.map((event) => at(event, 'choices', 0, 'delta', 'content') ?? '').join(''),
};
const LAST: Readonly<Record<TextProtocolName, Shown>> = {
  responses: { type: 'response.completed', response: { status: 'completed' } },
  messages: { type: 'message_stop' },
  chat: { object: 'chat.completion.chunk' },
};

test.for(
  SHAPES.flatMap(([shape, upstream, script]) =>
    TEXT_PROTOCOLS.flatMap((caller) =>
      [true, false].map((stream) => ({ shape, upstream, script, caller, stream })),
    ),
  ),
)('$caller over $upstream (stream: $stream): $shape', async ({ upstream, script, caller, stream }) => {
  stack.first.script(script);
  const body = requestOf(caller, `over-${upstream}`, 'hi', { stream });
  const reply = await stack.text.fetch(PATHS[caller], { body });
  expect(reply.status).toBe(200);
  if (!stream) return expect(WHOLE[caller](Object(await reply.json()))).toBe(WORDS);
  const events = (await collectSse(reply)).flatMap(({ json }) => (json === undefined ? [] : [Object(json)]));
  expect(STREAMED[caller](events)).toBe(WORDS);
  if (caller !== 'chat') expect(events.at(-1)).toMatchObject(LAST[caller]);
});

test('a response whose last event has another name, or does not show it, is stored', async () => {
  for (const last of [{ ...COMPLETED, type: 'response.done' }, { type: 'response.completed' }]) {
    stack.first.script({ sse: sse(RESPONSES(last)) });
    const body = requestOf('responses', 'over-responses', 'hi', { stream: true });
    const events = await collectSse(await stack.text.fetch(PATHS.responses, { body }));
    const id = at(events.findLast(({ json }) => json !== undefined)?.json, 'response', 'id');
    const stored = Object(await (await stack.text.fetch(`/v1/responses/${id}`)).json());
    expect([stored.status, WHOLE.responses(stored)]).toEqual(['completed', WORDS]);
  }
});

test("Anthropic's clients get the names of events that their server does not write", async () => {
  stack.first.script({ sse: unnamed(MESSAGES) });
  const body = requestOf('messages', 'over-messages', 'hi', { stream: true });
  const events = await collectSse(await stack.text.fetch(PATHS.messages, { body }));
  expect(events.map(({ event }) => event)).toEqual(MESSAGES.map(({ type }) => type));
});

test('a mark at the end that clients do not know is theirs', async () => {
  const chunks = sse([
    { ...completion, choices: [said('delta', WORDS)] },
    { ...completion, choices: [], usage },
  ]);
  stack.first.script({ sse: `${chunks}data: [done]\n\n` });
  const body = requestOf('chat', 'over-chat', 'hi', { stream: true });
  const reply = await stack.text.fetch(PATHS.chat, { body });
  expect((await collectSse(reply)).at(-1)?.data).toBe('[DONE]');
});

const ID = '2512292042121000001';
test.for([
  ['chat', 'message', `{"name":"f","arguments":{"id":${ID}}}`],
  ['chat', 'delta', `{"name":"f","arguments": {"id":${ID}}}`],
  ['responses', 'response', `{"id":${ID}}`],
  ['responses', 'items', `{"id":${ID}}`],
  ['messages', 'whole', `"{\\"id\\":${ID}}"`],
] as const)(
  'arguments in another form are in that of their protocol, to the digit: %s, %s',
  async ([caller, form, call]) => {
    const calls = `{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":${call}}]}`;
    const item = `{"type":"function_call","id":"fc_a1b2c3d4e5f6","call_id":"call_1","name":"f","arguments":${call}}`;
    const answer = `{"id":"resp_a1b2c3d4e5f6","object":"response","status":"completed","output":[${item}]}`;
    const bodies = {
      response: answer,
      items: `event: response.output_item.done\ndata: {"type":"response.output_item.done","output_index":0,"item":${item}}\n\nevent: response.completed\ndata: {"type":"response.completed","response":${answer}}\n\n`,
      message: `{"id":"c","object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":${calls}}]}`,
      delta: `data: {"id":"c","choices":[{"index":0,"delta":${calls},"finish_reason":null}]}\n\ndata: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n`,
      whole: `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":${call}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
    };
    const isStream = form === 'delta' || form === 'items';
    stack.first.script({
      status: 200,
      body: bodies[form],
      headers: { 'content-type': isStream ? 'text/event-stream' : 'application/json' },
    });
    const body = requestOf(caller, `over-${caller}`, 'hi', { stream: isStream });
    const text = await (await stack.text.fetch(PATHS[caller], { body })).text();
    if (form === 'items') expect(text.split(`"arguments":"{\\"id\\":${ID}}"`)).toHaveLength(3);
    expect(text).toContain(caller !== 'messages' ? `"arguments":"{\\"id\\":${ID}}"` : `"input":{"id":${ID}}`);
  },
);

/** What pads an answer so that it is read whole here, in part, or in the thread. */
const PADDINGS = { small: 0, 'in part': 20_000, large: 600_000 } as const;

test.for(Object.entries(PADDINGS))(
  'a message whose input is a text, and whose call has an id that has come before, has both right: %s',
  async ([, padding]) => {
    const use = { type: 'tool_use', id: 'call_0', name: 'f', input: {} };
    stack.first.script({
      json: {
        ...MESSAGE,
        content: [
          { type: 'text', text: 'a'.repeat(padding) },
          { ...use, input: '{"a":1}' },
        ],
        stop_reason: 'tool_use',
      },
    });
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [use] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'done' }] },
    ];
    const body = requestOf('messages', 'over-messages', 'hi', { messages });
    const answer = Object(await (await stack.text.fetch(PATHS.messages, { body })).json());
    expect(answer.content[1]).toEqual({ ...use, id: expect.stringMatching(/^toolu_/), input: { a: 1 } });
  },
);

test.for(Object.entries(PADDINGS))(
  'a completion whose arguments are an object, and whose call has an id that has come before, has both right: %s',
  async ([, padding]) => {
    const call = { id: 'call_0', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
    const odd = { ...call, function: { ...call.function, arguments: { a: 1 } } };
    const said = { role: 'assistant', content: 'a'.repeat(padding), tool_calls: [odd] };
    const ended = { ...choice, finish_reason: 'tool_calls' };
    stack.first.script({ json: { ...completion, choices: [{ ...ended, message: said }], usage } });
    const delta = { ...said, tool_calls: [{ ...odd, index: 0 }] };
    stack.first.script({
      sse: `${sse([{ ...completion, choices: [{ ...ended, delta }], usage }])}data: [DONE]\n\n`,
    });
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_0', content: 'done' },
    ];
    for (const [stream, member] of [
      [false, 'message'],
      [true, 'delta'],
    ] as const) {
      const body = requestOf('chat', 'over-chat', 'hi', { messages, stream });
      const reply = await stack.text.fetch(PATHS.chat, { body });
      const answer = stream ? (await collectSse(reply))[0]?.json : await reply.json();
      expect(at(answer, 'choices', 0, member, 'tool_calls', 0)).toMatchObject({
        ...call,
        id: expect.stringMatching(/^call_.{8}/),
      });
    }
  },
);

test.for(Object.entries(PADDINGS))(
  'a message whose content is a text has a block of it: %s',
  async ([, padding]) => {
    const text = WORDS + 'a'.repeat(padding);
    stack.first.script({ json: { ...MESSAGE, content: text } });
    const body = requestOf('messages', 'over-messages', 'hi');
    const answer = Object(await (await stack.text.fetch(PATHS.messages, { body })).json());
    expect(answer.content).toMatchObject([{ type: 'text', text }]);
  },
);
