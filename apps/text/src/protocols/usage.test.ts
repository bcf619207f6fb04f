import { expect, test } from 'vitest';
import { PROTOCOLS } from '../conversion/protocols.ts';
import { testTarget } from '../testing/test-context.ts';
import { framesOf } from '../testing/test-streams.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';

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
