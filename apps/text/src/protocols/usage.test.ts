import { expect, test } from 'vitest';
import { testTarget } from '../testing/test-context.ts';
import { framesOf } from '../testing/test-streams.ts';
import type { TextProtocolName as TextProtocol } from '../testing/text-pairs.ts';
import { callsOf } from '../wire/tool-calls.ts';
import { PROTOCOLS } from './protocols.ts';

/** A whole reply of each protocol with these two counts. */
const REPLIES: Record<TextProtocol, (input: unknown, output: unknown) => { [member: string]: unknown }> = {
  responses: (input_tokens, output_tokens) => ({
    id: 'resp_1',
    status: 'completed',
    output: [],
    usage: { input_tokens, output_tokens },
  }),
  messages: (input_tokens, output_tokens) => ({
    id: 'msg_1',
    type: 'message',
    content: [],
    stop_reason: 'end_turn',
    usage: { input_tokens, output_tokens },
  }),
  chat: (prompt_tokens, completion_tokens) => ({
    id: 'chatcmpl_1',
    choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens, completion_tokens },
  }),
};

/** The events of a stream that report these counts. */
const EVENTS: Record<TextProtocol, (input: unknown, output: unknown) => object[]> = {
  responses: (input, output) => [
    { type: 'response.created', response: { id: 'resp_1' } },
    { type: 'response.completed', response: REPLIES.responses(input, output) },
  ],
  messages: (input, output) => [
    { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: input, output_tokens: 1 } } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: output } },
    { type: 'message_stop' },
  ],
  chat: (input, output) => [
    { id: 'chatcmpl_1', choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] },
    { choices: [], usage: { prompt_tokens: input, completion_tokens: output } },
  ],
};

const protocols: readonly TextProtocol[] = ['responses', 'messages', 'chat'];

/** What each of the four readers makes of a report: a reply and a stream, passed and translated. */
function readEverywhere(protocol: TextProtocol, input: unknown, output: unknown) {
  const { readUsage, decodeReply, createStreamReader, decodeStream } = PROTOCOLS[protocol];
  const reply = REPLIES[protocol](input, output);
  const data = EVENTS[protocol](input, output).map((event) => JSON.stringify(event));
  const reader = createStreamReader({ hidesUsage: false });
  for (const frame of framesOf(data.map((one) => `data: ${one}\n\n`).join(''))) reader.frame(frame);
  const decoder = decodeStream(testTarget(protocol), (text) => text);
  const events = [...data.flatMap((one) => [...decoder.event(one)]), ...decoder.end()];
  const finish = events.find((event) => event.type === 'finish');
  const decoded = decodeReply(reply, testTarget(protocol), (text) => text).usage;
  return [readUsage(reply), reader.usage, decoded, finish?.usage ?? null].map((usage) =>
    usage?.reported ? [usage.inputTokens, usage.outputTokens] : null,
  );
}

test.for(protocols)(
  '%s: a report is read the same from replies and streams, passed and translated',
  (protocol) => {
    expect(readEverywhere(protocol, 12, 34)).toEqual(Array(4).fill([12, 34]));
    expect(readEverywhere(protocol, 0, 2 ** 53 - 1)).toEqual(Array(4).fill([0, 2 ** 53 - 1]));
  },
);

test.for(protocols)('%s: a fraction is rounded up, and digits in quotes are a number', (protocol) => {
  expect(readEverywhere(protocol, 12.5, '34')).toEqual(Array(4).fill([13, 34]));
  expect(readEverywhere(protocol, '12.5', 34)).toEqual(Array(4).fill([13, 34]));
});

test.for(
  protocols.flatMap((protocol) =>
    [-1, 'many', '', '1e9', 2 ** 53, true, {}, []].map((count) => [protocol, count] as const),
  ),
)('%s: %j is no count and counts as 0; the rest of the report holds', ([protocol, count]) => {
  expect(readEverywhere(protocol, count, 34)).toEqual(Array(4).fill([0, 34]));
  const [reply, passed, decoded, translated] = readEverywhere(protocol, 12, count);
  // A stream of messages begins with a count of its own.
  const streamed = protocol === 'messages' ? [12, 1] : [12, 0];
  expect([reply, decoded]).toEqual(Array(2).fill([12, 0]));
  expect([passed, translated]).toEqual(Array(2).fill(streamed));
});

/** What a passed and a translated stream of these events report. */
function readStream(protocol: TextProtocol, events: readonly object[]) {
  const { createStreamReader, decodeStream } = PROTOCOLS[protocol];
  const data = events.map((event) => JSON.stringify(event));
  const reader = createStreamReader({ hidesUsage: false });
  for (const frame of framesOf(data.map((one) => `data: ${one}\n\n`).join(''))) reader.frame(frame);
  const decoder = decodeStream(testTarget(protocol), (text) => text);
  const decoded = [...data.flatMap((one) => [...decoder.event(one)]), ...decoder.end()];
  return [reader.usage, decoded.find((event) => event.type === 'finish')?.usage];
}

const messagesStream = (start: object, delta: object) => [
  { type: 'message_start', message: { id: 'msg_1', usage: start } },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: delta },
  { type: 'message_stop' },
];

const search = (action: object | null, more: object = {}) => ({ type: 'web_search_call', action, ...more });
const code = (container_id: string) => ({ type: 'code_interpreter_call', container_id });
const SEARCHED = search({ type: 'search', query: 'whales' });

/** Calls of tools that providers run: where each protocol shows or counts them. */
const CALLS: readonly [name: string, TextProtocol, members: object, usage: object, calls: object | null][] = [
  [
    'searches',
    'messages',
    {},
    { server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 } },
    { web_search: 2, web_fetch: 1 },
  ],
  ['none', 'messages', {}, { server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 } }, null],
  [
    'searches as OpenRouter counts them',
    'chat',
    {},
    { server_tool_use: { web_search_requests: 2, tool_calls_executed: 5 } },
    { web_search: 2 },
  ],
  [
    'searches as xAI counts them',
    'chat',
    {},
    { server_side_tool_usage_details: { web_search_calls: 3, x_search_calls: 1, mcp_calls: 0 } },
    { web_search: 3, x_search: 1 },
  ],
  ['searches as Perplexity counts them', 'chat', {}, { num_search_queries: 4 }, { web_search: 4 }],
  [
    'counts that are none',
    'chat',
    {},
    { server_tool_use: { web_search_requests: -1, __proto___requests: 2, 'a b_requests': 3 } },
    null,
  ],
  [
    'items, an opened page by itself, not what failed, nor what its caller runs',
    'responses',
    {
      output: [
        SEARCHED,
        SEARCHED,
        search({ type: 'open_page' }),
        search(null, { status: 'failed' }),
        { type: 'file_search_call' },
        { type: 'function_call', name: 'f', call_id: 'c', arguments: '{}' },
        { type: 'local_shell_call' },
      ],
    },
    {},
    { web_search: 2, opened_page: 1, file_search: 1 },
  ],
  [
    'containers rather than runs',
    'responses',
    { output: [code('a'), code('a'), code('b')] },
    {},
    { code_interpreter: 2 },
  ],
  [
    'what OpenAI counts rather than items',
    'responses',
    { output: [SEARCHED, SEARCHED], tool_usage: { web_search: { num_requests: 5 } } },
    {},
    { web_search: 5 },
  ],
  [
    'what xAI counts rather than items',
    'responses',
    { output: [SEARCHED, SEARCHED] },
    { server_side_tool_usage_details: { web_search_calls: 1 } },
    { web_search: 1 },
  ],
];

test.for(CALLS)(
  '%s in %s are the calls of tools that a reply used, whole and streamed, passed and translated',
  ([, protocol, members, more, calls]) => {
    const { readUsage, decodeReply, createStreamReader, decodeStream } = PROTOCOLS[protocol];
    const [input, output] =
      protocol === 'chat' ? ['prompt_tokens', 'completion_tokens'] : ['input_tokens', 'output_tokens'];
    const usage = { [input]: 12, [output]: 34, ...more };
    const reply = { ...REPLIES[protocol](12, 34), ...members, usage };
    const items = 'output' in members && Array.isArray(members.output) ? members.output : [];
    const events: Record<TextProtocol, object[]> = {
      responses: [
        ...items.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
        // Of some servers the last event has no items.
        { type: 'response.completed', response: { ...reply, output: [] } },
      ],
      messages: [
        { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 12, output_tokens: 1 } } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
        { type: 'message_stop' },
      ],
      chat: [...EVENTS.chat(1, 1).slice(0, 1), { choices: [], usage }],
    };
    const data = events[protocol].map((event) => JSON.stringify(event));
    const reader = createStreamReader({ hidesUsage: false });
    for (const frame of framesOf(data.map((one) => `data: ${one}\n\n`).join(''))) reader.frame(frame);
    const decoder = decodeStream(testTarget(protocol), (text) => text);
    const decoded = [...data.flatMap((one) => [...decoder.event(one)]), ...decoder.end()];
    const finish = decoded.find((event) => event.type === 'finish');
    const whole = decodeReply(reply, testTarget(protocol), (text) => text).usage;
    for (const used of [readUsage(reply), reader.usage, whole, finish?.usage ?? null])
      expect(used && callsOf(used)).toEqual(calls);
  },
);

test('calls that a stream showed before it broke are used', () => {
  const reader = PROTOCOLS.responses.createStreamReader({ hidesUsage: false });
  const event = JSON.stringify({ type: 'response.output_item.done', output_index: 0, item: SEARCHED });
  for (const frame of framesOf(`data: ${event}\n\n`)) reader.frame(frame);
  expect(reader.usage).toMatchObject({ webSearches: 1, reported: false });
});

/** What a stream first reports, what it reports later, and what it used. */
const LATER: readonly [name: string, start: object, delta: object, used: object][] = [
  [
    'zeros',
    { input_tokens: 1000, output_tokens: 1 },
    { input_tokens: 0, output_tokens: 10 },
    { inputTokens: 1000, outputTokens: 10 },
  ],
  [
    'zeros of the cache',
    {
      input_tokens: 5,
      cache_read_input_tokens: 800,
      cache_creation_input_tokens: 100,
      cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 60 },
      server_tool_use: { web_search_requests: 2 },
    },
    {
      input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      server_tool_use: { web_search_requests: 0 },
      output_tokens: 10,
    },
    {
      inputTokens: 905,
      cachedInputTokens: 800,
      cacheWriteTokens: 100,
      cacheWrite1hTokens: 60,
      webSearches: 2,
    },
  ],
  [
    'a negative and a broken count',
    { input_tokens: 1000, output_tokens: 10 },
    { input_tokens: -1, output_tokens: 'x' },
    { inputTokens: 1000, outputTokens: 10 },
  ],
  [
    'more',
    { input_tokens: 10, output_tokens: 1 },
    { input_tokens: 2000, output_tokens: 10 },
    { inputTokens: 2000, outputTokens: 10 },
  ],
  [
    'the same input, of which it now says what was cached',
    { input_tokens: 1000, output_tokens: 1 },
    {
      input_tokens: 200,
      cache_read_input_tokens: 800,
      cache_creation_input_tokens: 0,
      output_tokens: 10,
    },
    { inputTokens: 1000, cachedInputTokens: 800 },
  ],
];

test.for(LATER)(
  'messages: counters of a stream never fall when it later reports %s',
  ([, start, delta, used]) => {
    for (const usage of readStream('messages', messagesStream(start, delta)))
      expect(usage).toMatchObject(used);
  },
);

test.for(['responses', 'chat'] as const)(
  '%s: a smaller report later in a stream says nothing',
  (protocol) => {
    const smaller = EVENTS[protocol](0, 3);
    const events = protocol === 'chat' ? [...EVENTS.chat(12, 34), ...smaller.slice(1)] : null;
    const responses = [
      { type: 'response.in_progress', response: { ...REPLIES.responses(12, 2), status: 'in_progress' } },
      ...smaller,
    ];
    const [passed] = readStream(protocol, events ?? responses);
    expect(passed).toMatchObject({ inputTokens: 12, outputTokens: protocol === 'chat' ? 34 : 3 });
  },
);

const completion = (members: object) => ({ ...REPLIES.chat(0, 0), usage: undefined, ...members });

/** Reports of servers in places of their own, and what they mean. */
const PLACES: readonly [name: string, reply: object, used: object][] = [
  [
    "Kimi's cached_tokens",
    completion({ usage: { prompt_tokens: 100, completion_tokens: 5, cached_tokens: 80 } }),
    { inputTokens: 100, cachedInputTokens: 80 },
  ],
  [
    "DeepSeek's prompt_cache_hit_tokens",
    completion({ usage: { prompt_tokens: 100, completion_tokens: 5, prompt_cache_hit_tokens: 64 } }),
    { inputTokens: 100, cachedInputTokens: 64 },
  ],
  [
    "a place that is there with 0 before the server's own",
    completion({
      usage: {
        prompt_tokens: 100,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 0 },
        cached_tokens: 80,
      },
    }),
    { cachedInputTokens: 80 },
  ],
  [
    "Groq's x_groq",
    completion({ x_groq: { usage: { prompt_tokens: 7, completion_tokens: 5 } } }),
    { inputTokens: 7, outputTokens: 5 },
  ],
  [
    "llama.cpp's timings",
    completion({ timings: { cache_n: 30, prompt_n: 7, predicted_n: 5 } }),
    { inputTokens: 37, cachedInputTokens: 30, outputTokens: 5 },
  ],
  [
    "Mistral's prompt_audio_seconds, whose tokens are in the total only",
    completion({
      usage: { prompt_audio_seconds: 203, prompt_tokens: 4, completion_tokens: 635, total_tokens: 3264 },
    }),
    { inputTokens: 4, outputTokens: 635, reasoningTokens: 0, audioMs: 203_000 },
  ],
  [
    "Perplexity's reasoning_tokens",
    completion({ usage: { prompt_tokens: 10, completion_tokens: 50, reasoning_tokens: 40 } }),
    { outputTokens: 50, reasoningTokens: 40 },
  ],
  [
    'reasoning that only the total has',
    completion({ usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 115 } }),
    { inputTokens: 10, outputTokens: 105, reasoningTokens: 100 },
  ],
  [
    'a total, from which a count that is none follows',
    completion({ usage: { prompt_tokens: -1, completion_tokens: 5, total_tokens: 115 } }),
    { inputTokens: 110, outputTokens: 5 },
  ],
  [
    'a total smaller than its parts',
    completion({ usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 1 } }),
    { inputTokens: 10, outputTokens: 5 },
  ],
  [
    'more cached than there is input, and more reasoning than output',
    completion({
      usage: {
        prompt_tokens: 10,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 50, cache_write_tokens: 50 },
        completion_tokens_details: { reasoning_tokens: 50 },
      },
    }),
    { inputTokens: 10, cachedInputTokens: 10, cacheWriteTokens: 0, outputTokens: 5, reasoningTokens: 5 },
  ],
  [
    "the other API's names",
    completion({ usage: { input_tokens: 10, output_tokens: 5, input_tokens_details: { cached_tokens: 4 } } }),
    { inputTokens: 10, cachedInputTokens: 4, outputTokens: 5 },
  ],
];

test.for(PLACES)('chat: %s', ([, reply, used]) => {
  const { readUsage, decodeReply } = PROTOCOLS.chat;
  expect(readUsage({ ...reply })).toMatchObject(used);
  expect(decodeReply(reply, testTarget('chat'), (text) => text).usage).toMatchObject(used);
  const [first] = EVENTS.chat(0, 0);
  const chunk = { ...reply, choices: [] };
  for (const usage of readStream('chat', [{ ...first }, chunk])) expect(usage).toMatchObject(used);
});

test("chat: a report with each of several choices is added up, with the prompt once (Kimi's streams)", () => {
  const end = (index: number, completion_tokens: number) => ({
    id: 'chatcmpl_1',
    choices: [
      {
        index,
        delta: {},
        finish_reason: 'stop',
        usage: { prompt_tokens: 100, completion_tokens, cached_tokens: 60 },
      },
    ],
  });
  for (const usage of readStream('chat', [end(0, 5), end(1, 7)]))
    expect(usage).toMatchObject({ inputTokens: 100, cachedInputTokens: 60, outputTokens: 12 });
});

test.for(protocols)('%s: a reply without any count reports nothing', (protocol) => {
  expect(PROTOCOLS[protocol].readUsage({ ...REPLIES[protocol](1, 1), usage: {} })).toBe(null);
  expect(PROTOCOLS[protocol].readUsage({ ...REPLIES[protocol](1, 1), usage: null })).toBe(null);
});

const WORDS = 'A word and another.';
const chunk = (choice: object) => ({ id: 'chatcmpl_1', choices: [{ index: 0, ...choice }] });

/** Streams whose words are not in deltas of text, as an estimate of their tokens must know them. */
const WORDS_ELSEWHERE: readonly (readonly [TextProtocol, name: string, events: readonly object[]])[] = [
  ['chat', 'a list of parts', [chunk({ delta: { content: [{ type: 'text', text: WORDS }] } })]],
  ['chat', 'a message', [chunk({ message: { content: WORDS } })]],
  [
    'chat',
    'a message beside its deltas',
    [chunk({ delta: { content: WORDS } }), chunk({ delta: {}, message: { content: WORDS } })],
  ],
  [
    'chat',
    'a call of the older form',
    [chunk({ delta: { function_call: { name: 'a', arguments: WORDS } } })],
  ],
  ['chat', 'a free-text call', [chunk({ delta: { tool_calls: [{ index: 0, custom: { input: WORDS } }] } })]],
  [
    'messages',
    'a first event',
    [{ type: 'message_start', message: { content: [{ type: 'text', text: WORDS }] } }],
  ],
  [
    'messages',
    "a block's beginning",
    [{ type: 'content_block_start', index: 0, content_block: { type: 'text', text: WORDS } }],
  ],
  ['responses', 'a whole text', [{ type: 'response.output_text.done', output_index: 0, text: WORDS }]],
  [
    'responses',
    'an item',
    [
      {
        type: 'response.output_item.done',
        item: { type: 'message', content: [{ type: 'output_text', text: WORDS }] },
      },
    ],
  ],
  [
    'responses',
    'the last event',
    [
      {
        type: 'response.completed',
        response: { output: [{ type: 'message', content: [{ type: 'output_text', text: WORDS }] }] },
      },
    ],
  ],
];

test.for(WORDS_ELSEWHERE)('%s: words in %s count for an estimate, and once', ([protocol, , events]) => {
  const reader = PROTOCOLS[protocol].createStreamReader({ hidesUsage: false });
  for (const frame of framesOf(events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')))
    reader.frame(frame);
  expect(reader.outputLength).toBe(WORDS.length);
});
