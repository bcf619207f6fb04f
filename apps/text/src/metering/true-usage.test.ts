import type { Account } from '@gateway/contracts/identity';
import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { redisNames } from '@gateway/metering/redis-names';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../testing/start-stack.ts';
import { PATHS, requestOf, TEXT_PROTOCOLS, type TextProtocolName } from '../testing/text-pairs.ts';

const PRICE = '{ inputPerMTok: 1, outputPerMTok: 1 }';
const BOUNDS = 'contextWindow: 1000000, maxOutputTokens: 1000';

let stack: Stack;
let keyId: string;
let keys = 0;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first) => `
channels:
  chat: { provider: openai-compatible, baseUrl: "${first}/v1", apiKey: k }
  responses: { provider: openai-compatible, baseUrl: "${first}/v1", apiKey: k, speaks: [responses] }
  messages: { provider: anthropic, baseUrl: "${first}", apiKey: k }
models:
  over-chat: { kind: text, ${BOUNDS}, routes: [{ channel: chat }], price: ${PRICE} }
  over-responses: { kind: text, ${BOUNDS}, routes: [{ channel: responses }], builtInTools: [web_search], price: ${PRICE} }
  over-messages: { kind: text, ${BOUNDS}, routes: [{ channel: messages }], price: { inputPerMTok: 1, outputPerMTok: 1, cacheWritePerMTok: 1.25 } }
  searching:
    kind: text
    routes: [{ channel: messages }]
    contextWindow: 1000
    maxOutputTokens: 1000
    price: { perThousandToolCalls: { web_search: 10 } }
  searching-elsewhere:
    kind: text
    routes: [{ channel: responses }]
    contextWindow: 1000
    maxOutputTokens: 1000
    price: { perThousandToolCalls: { web_search: 10 } }
  tiered:
    kind: text
    routes: [{ channel: chat }]
    maxOutputTokens: 1000
    price: { inputPerMTok: 1, outputPerMTok: 1, serviceTiers: { priority: { inputPerMTok: 1000, outputPerMTok: 1000 } } }
  thinking:
    kind: text
    routes: [{ channel: chat }]
    maxOutputTokens: 1000
    price: { inputPerMTok: 1, cacheWritePerMTok: 500, outputPerMTok: 1, reasoningPerMTok: 1000 }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  keys += 1;
  keyId = `key_${keys}`;
  stack.first.reset();
});

const budgetOf = (usd: number): Account => ({
  owner: keyId,
  limits: {},
  budget: { microUsd: usd * 1e6, period: 'total', allowUnpriced: false },
});

const send = (path: string, body: object, accounts: readonly Account[] = []) =>
  stack.text.fetch(path, { body, identity: { keyId, accounts: [...accounts] } });

async function recorded(): Promise<UsageRecord> {
  const read = async () => {
    const name = redisNames.records(new Date().toISOString().slice(0, 10));
    const all = (await stack.redis.xrange(name, '-', '+')).map(([, fields]) =>
      UsageRecord.parse(JSON.parse(fields[1] ?? '')),
    );
    return all.filter((record) => record.keyId === keyId);
  };
  await waitFor(async () => (await read()).length > 0);
  const [record] = await read();
  if (record === undefined) throw new Error('no record');
  return record;
}

type Counts = readonly [input: unknown, output: unknown];
const TEXT = 'A word and another. '.repeat(20);

/** An answer of each protocol with these counts. */
const REPLIES: Readonly<Record<TextProtocolName, (counts: Counts) => object>> = {
  chat: ([prompt_tokens, completion_tokens]) => ({
    id: 'chatcmpl_1',
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
    usage: { prompt_tokens, completion_tokens },
  }),
  messages: ([input_tokens, output_tokens]) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: TEXT }],
    stop_reason: 'end_turn',
    usage: { input_tokens, output_tokens },
  }),
  responses: ([input_tokens, output_tokens]) => ({
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: TEXT, annotations: [] }],
      },
    ],
    usage: { input_tokens, output_tokens },
  }),
};

const frames = (events: readonly object[]) =>
  events
    .map((event) => `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
    .join('');

const STREAMS: Readonly<Record<TextProtocolName, (counts: Counts) => string>> = {
  chat: ([prompt_tokens, completion_tokens]) =>
    `${frames([
      { id: 'chatcmpl_1', choices: [{ index: 0, delta: { content: TEXT } }] },
      { id: 'chatcmpl_1', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { id: 'chatcmpl_1', choices: [], usage: { prompt_tokens, completion_tokens } },
    ])}data: [DONE]\n\n`,
  messages: ([input_tokens, output_tokens]) =>
    frames([
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          content: [],
          usage: { input_tokens, output_tokens: 0 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens } },
      { type: 'message_stop' },
    ]),
  responses: (counts) =>
    frames([
      {
        type: 'response.created',
        sequence_number: 0,
        response: { id: 'resp_1', status: 'in_progress', output: [] },
      },
      {
        type: 'response.output_item.added',
        sequence_number: 1,
        output_index: 0,
        item: { id: 'msg_1', type: 'message', role: 'assistant', content: [] },
      },
      {
        type: 'response.content_part.added',
        sequence_number: 2,
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        part: { type: 'output_text', text: '', annotations: [] },
      },
      {
        type: 'response.output_text.delta',
        sequence_number: 3,
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta: TEXT,
      },
      { type: 'response.completed', sequence_number: 4, response: REPLIES.responses(counts) },
    ]),
};

const ways = TEXT_PROTOCOLS.flatMap((caller) =>
  TEXT_PROTOCOLS.flatMap((spoken) => [false, true].map((stream) => [caller, spoken, stream] as const)),
);

test.for(ways)(
  'from %s over %s, streamed %s: no part of a report that cannot be true is believed, and what can be true is',
  async ([caller, spoken, stream]) => {
    const reports: readonly [Counts, input: number | 'estimated', output: number | 'estimated'][] = [
      [[12, 34], 12, 34],
      [[0, 0], 'estimated', 'estimated'],
      [[0, 34], 'estimated', 34],
      [[12, 0], 12, 'estimated'],
      [[-5, 34], 'estimated', 34],
    ];
    const question = 'What is it? '.repeat(200);
    for (const [counts, input, output] of reports) {
      keys += 1;
      keyId = `key_${keys}`;
      stack.first.script(stream ? { sse: STREAMS[spoken](counts) } : { json: REPLIES[spoken](counts) });
      const reply = await send(PATHS[caller], requestOf(caller, `over-${spoken}`, question, { stream }));
      expect(reply.status).toBe(200);
      await reply.text();
      const { consumption, estimated } = await recorded();
      const { inputTokens, outputTokens } = consumption;
      if (input === 'estimated') expect(inputTokens).toBeGreaterThan(question.length / 8);
      else expect(inputTokens).toBe(input);
      if (output === 'estimated') expect(outputTokens).toBe(Math.ceil(TEXT.length / 4));
      else expect(outputTokens).toBe(output);
      expect(estimated).toBe(input === 'estimated' || output === 'estimated');
    }
  },
);

const SEARCH = { type: 'web_search_20250305', name: 'web_search' };

test('calls of tools are charged by count beside the tokens, and shown', async () => {
  const server_tool_use = { web_search_requests: 3, web_fetch_requests: 1 };
  stack.first.script({
    json: { ...REPLIES.messages([0, 0]), usage: { input_tokens: 10, output_tokens: 20, server_tool_use } },
  });
  const body = { ...requestOf('messages', 'searching', 'Hi'), tools: [SEARCH] };
  await (await send('/v1/messages', body, [budgetOf(10)])).text();
  expect(await recorded()).toMatchObject({
    consumption: { inputTokens: 10, outputTokens: 20, toolCalls: { web_search: 3, web_fetch: 1 } },
    costMicroUsd: 30_000,
    detail: { unitPrices: { toolCalls: { web_search: 10 } } },
  });
  expect(stack.text.lines.at(-1)).toMatchObject({
    toolCalls: 'web_search=3 web_fetch=1',
    costMicroUsd: 30_000,
  });
});

test('of searches that are shown in a translated answer those that open a page are not charged', async () => {
  const call = (action: object) => ({ type: 'web_search_call', status: 'completed', action });
  const output = [
    call({ type: 'search', query: 'whales' }),
    call({ type: 'open_page', url: 'https://example.org' }),
  ];
  const { output: text, ...reply } = { output: [], ...REPLIES.responses([10, 20]) };
  stack.first.script({ json: { ...reply, output: [...output, ...text] } });
  const answer = await send('/v1/messages', requestOf('messages', 'searching-elsewhere', 'Hi'), [
    budgetOf(10),
  ]);
  expect(await answer.json()).toMatchObject({ usage: { server_tool_use: { web_search_requests: 2 } } });
  expect(await recorded()).toMatchObject({
    consumption: { toolCalls: { web_search: 1 } },
    costMicroUsd: 10_000,
  });
});

test.for([
  ['as many as it may', 5, 0.049, 429],
  ['as many as it may', 5, 0.051, 200],
  ['a hundred where it sets no bound', undefined, 0.99, 429],
  ['a hundred where it sets no bound', undefined, 1.01, 200],
] as const)('of calls of tools a request reserves %s (%s for $%s)', async ([, max_uses, usd, status]) => {
  stack.first.script({ json: REPLIES.messages([10, 20]) });
  const tools = [{ ...SEARCH, ...(max_uses && { max_uses }) }];
  const reply = await send('/v1/messages', { ...requestOf('messages', 'searching', 'Hi'), tools }, [
    budgetOf(usd),
  ]);
  expect(reply.status).toBe(status);
});

test('cache writes of an hour are recorded beside those of five minutes, and cost twice the input', async () => {
  const usage = {
    input_tokens: 10,
    cache_creation_input_tokens: 3000,
    cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 },
    output_tokens: 20,
  };
  stack.first.script({ json: { ...REPLIES.messages([0, 0]), usage } });
  await (await send('/v1/messages', requestOf('messages', 'over-messages', 'Hi'))).text();
  expect(await recorded()).toMatchObject({
    consumption: { inputTokens: 3010, cacheWriteTokens: 3000, cacheWrite1hTokens: 2000 },
    costMicroUsd: 10 + 1250 + 4000 + 20,
    detail: { unitPrices: { input: 1, cacheWrite: 1.25, cacheWrite1h: 2, output: 1 } },
  });
});

test.for(TEXT_PROTOCOLS)(
  'to a caller of %s a reply is charged at the tier that the provider reports',
  async (caller) => {
    stack.first.script({ json: { ...REPLIES.chat([10, 20]), service_tier: 'priority' } });
    await (await send(PATHS[caller], requestOf(caller, 'tiered', 'Hi'))).text();
    expect((await recorded()).costMicroUsd).toBe(30_000);
  },
);

const chat = (more: object) => requestOf('chat', 'over-chat', 'Hi', { max_tokens: 100, ...more });

/** Requests that may cost more than a cent, and what makes them so. */
const DEAR: readonly [name: string, path: string, body: object][] = [
  ['many answers', '/v1/chat/completions', chat({ n: 128 })],
  [
    'the larger of two bounds',
    '/v1/chat/completions',
    chat({ max_tokens: 20_000, max_completion_tokens: 10 }),
  ],
  [
    'the priority tier',
    '/v1/chat/completions',
    requestOf('chat', 'tiered', 'Hi', { service_tier: 'priority' }),
  ],
  ['reasoning', '/v1/chat/completions', requestOf('chat', 'thinking', 'Hi', { max_tokens: 100 })],
  ['cache writes', '/v1/chat/completions', requestOf('chat', 'thinking', 'Hi', { max_tokens: 1 })],
  [
    'a file by its id',
    '/v1/responses',
    {
      model: 'over-responses',
      input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }],
    },
  ],
  ['web search', '/v1/responses', { model: 'over-responses', input: 'Hi', tools: [{ type: 'web_search' }] }],
];

test.for(DEAR)('a budget reserves the most that a request can cost: %s', async ([, path, body]) => {
  const refused = await send(path, body, [budgetOf(0.01)]);
  expect(refused.status).toBe(429);
  await refused.text();
  expect(stack.first.requests).toHaveLength(0);
  expect((await send(path, body, [budgetOf(5)])).status).not.toBe(429);
});

/** What was reported of the first response: a provider counts what files hold. */
const CONTINUED = [
  ['a previous response that holds a file', 'previous_response_id', 50_000, 429],
  ['a previous response that holds little', 'previous_response_id', 10, 200],
  ['a conversation that holds a file', 'conversation', 0, 429],
] as const;

test.for(CONTINUED)('a budget reserves what a request names by ids: %s', async ([, by, reported, status]) => {
  const file = { type: 'input_file', file_id: 'file_1' };
  const content = [{ type: 'input_text', text: 'Hi' }, ...(status === 429 ? [file] : [])];
  const input = [{ type: 'message', role: 'user', content }];
  const [path, body] =
    by === 'conversation'
      ? ['/v1/conversations', { items: input }]
      : ['/v1/responses', { model: 'over-responses', input }];
  stack.first.script({ json: { ...REPLIES.responses([reported, 20]), id: `resp_${keyId}` } });
  const { id } = Object(await (await send(path, body)).json());
  stack.first.reset();
  const next = { model: 'over-responses', input: 'And?', max_output_tokens: 100, [by]: id };
  expect((await send('/v1/responses', next, [budgetOf(0.01)])).status).toBe(status);
  expect(stack.first.requests).toHaveLength(status === 429 ? 0 : 1);
});

test('an ordinary request fits a budget of a cent, at a tier that is not the dear one', async () => {
  for (const body of [chat({}), requestOf('chat', 'tiered', 'Hi', { service_tier: 'default' })])
    expect((await send('/v1/chat/completions', body, [budgetOf(0.01)])).status).toBe(200);
});

test('many answers count on a limit on tokens; input of unknown size does when it is known', async () => {
  const limited: Account = { owner: keyId, limits: { tokensPerMinute: 5000 }, budget: null };
  expect((await send('/v1/chat/completions', chat({ n: 128 }), [limited])).status).toBe(429);
  const body = {
    model: 'over-responses',
    input: 'Hi',
    max_output_tokens: 100,
    tools: [{ type: 'web_search' }],
  };
  stack.first.script({ json: REPLIES.responses([50_000, 10]) });
  expect((await send('/v1/responses', body, [limited])).status).toBe(200);
  await recorded();
  expect((await send('/v1/responses', body, [limited])).status).toBe(429);
});

const SEARCH_BLOCKS = ['srvtoolu_1', 'srvtoolu_2', 'srvtoolu_3'].flatMap((id) => [
  { type: 'server_tool_use', id, name: 'web_search', input: { query: 'whales' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: id,
    content: id === 'srvtoolu_3' ? { type: 'web_search_tool_result_error', error_code: 'unavailable' } : [],
  },
]);
const searchedMessage = (counts: object, text: string) => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
  content: [...SEARCH_BLOCKS, { type: 'text', text }],
  usage: { input_tokens: 10, output_tokens: 10, ...counts },
});
const searchedStream = ({ content, usage, stop_reason, ...message }: ReturnType<typeof searchedMessage>) =>
  [
    { type: 'message_start', message: { ...message, content: [], usage } },
    ...content.flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason }, usage },
    { type: 'message_stop' },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');

test.for(
  (['messages', 'responses'] as const).flatMap((caller) =>
    ([false, true, 'large'] as const).flatMap((stream) =>
      [
        { says: 'nothing of them', counts: {}, searches: 2 },
        { says: 'null', counts: { server_tool_use: null }, searches: 2 },
        { says: 'another count', counts: { server_tool_use: { web_search_requests: 1 } }, searches: 1 },
      ].map((one) => ({ caller, stream, ...one })),
    ),
  ),
)(
  '$caller over messages, streamed: $stream: searches that an answer shows are charged where its usage says $says: $searches',
  async ({ caller, stream, counts, searches }) => {
    const message = searchedMessage(counts, stream === 'large' ? 'word '.repeat(5000) : 'Whales.');
    stack.first.script(stream === true ? { sse: searchedStream(message) } : { json: message });
    const tools =
      caller === 'messages'
        ? [{ type: 'web_search_20250305', name: 'web_search' }]
        : [{ type: 'web_search' }];
    const body = requestOf(caller, 'searching', 'Look.', { stream: stream === true, tools });
    await (await send(PATHS[caller], body)).text();
    expect((await recorded()).consumption.toolCalls).toEqual({ web_search: searches });
  },
);
