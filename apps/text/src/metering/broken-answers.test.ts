import type { Account } from '@gateway/contracts/identity';
import { redisNames } from '@gateway/metering/redis-names';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../testing/start-stack.ts';

/** What answers cost of which their caller does not get the end. Prices: 1 $ for a million tokens. */
let stack: Stack;
let keys = 0;
let keyId = '';

beforeAll(async () => {
  const model = (channel: string) =>
    `{ kind: text, maxOutputTokens: 1000, contextWindow: 10000, routes: [{ channel: ${channel} }], price: { inputPerMTok: 1, outputPerMTok: 1 } }`;
  stack = await startStack({
    configuration: (first) => `
channels:
  messages: { provider: simulator, baseUrl: "${first}", speaks: [messages], timeouts: { idleMs: 300 } }
  again: { provider: simulator, baseUrl: "${first}", speaks: [messages], timeouts: { idleMs: 300 } }
  chat: { provider: simulator, baseUrl: "${first}", speaks: [chat], timeouts: { idleMs: 300 } }
  responses: { provider: simulator, baseUrl: "${first}", speaks: [responses], timeouts: { idleMs: 300 } }
  enveloped: { provider: simulator, baseUrl: "${first}", speaks: [messages], quirks: { envelope: { version: "v1" } } }
models:
  to-enveloped: ${model('enveloped')}
  to-responses: ${model('responses')}
  to-searches: { kind: text, maxOutputTokens: 1000, contextWindow: 10000, builtInTools: [web_search], routes: [{ channel: messages }], price: { inputPerMTok: 1, outputPerMTok: 1, perThousandToolCalls: { web_search: 10 } } }
  to-messages: ${model('messages')}
  to-chat: ${model('chat')}
  to-several: { kind: text, maxOutputTokens: 1000, contextWindow: 10000, routes: [{ channel: messages }, { channel: again, priority: 1 }, { channel: chat, priority: 2 }], price: { inputPerMTok: 1, outputPerMTok: 1 } }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  keys += 1;
  keyId = `key_${keys}`;
  stack.first.reset();
});

const budget = (microUsd: number): Account => ({
  owner: keyId,
  limits: {},
  budget: { microUsd, period: 'total', allowUnpriced: false },
});
const settled = async () => {
  await waitFor(
    async () => Number((await account()).reserved) === 0 && (await account()).spent !== undefined,
  );
  return account();
};
const account = () => stack.redis.hgetall(redisNames.account(keyId, 'total'));

const SEARCH = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'whales' } };
const FOUND = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
const USAGE = { input_tokens: 9000, output_tokens: 500 };
const whole = (content: object[], stop_reason: string) => ({
  json: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content, stop_reason, usage: USAGE },
});
const streamed = (content: object[], stop_reason: string) => {
  const events = [
    { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', usage: USAGE } },
    ...content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason }, usage: USAGE },
    { type: 'message_stop' },
  ];
  return { sse: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('') };
};

const search = (accounts: Account[], stream: boolean, model = 'to-messages') =>
  stack.text.fetch('/v1/responses', {
    body: { model, input: 'Look.', tools: [{ type: 'web_search' }], stream },
    identity: { keyId, accounts },
  });

test.for([
  ['whole', false, whole],
  ['streamed', true, streamed],
  ['collected', false, streamed],
] as const)(
  'a paused answer (%s) goes on only as far as the budget covers another request, and is cut there',
  async ([, stream, reply]) => {
    for (let count = 0; count < 4; count += 1) stack.first.script(reply([SEARCH, FOUND], 'pause_turn'));
    // A request is 11,000 tokens at most: it covers one and two more.
    const answer = await search([budget(35_000)], stream);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('"status":"incomplete"');
    expect(stack.first.requests).toHaveLength(3);
    expect(await settled()).toEqual({ reserved: '0', spent: String(3 * 9500) });
  },
);

test('a paused answer without a budget goes on, and one that a budget covers gives back what it had reserved', async () => {
  for (const accounts of [[], [budget(1e9)]]) {
    stack.first.script(whole([SEARCH, FOUND], 'pause_turn'));
    stack.first.script(whole([{ type: 'text', text: 'Whales.' }], 'end_turn'));
    expect(await (await search(accounts, false)).text()).toContain('Whales.');
  }
  expect(await settled()).toEqual({ reserved: '0', spent: '19000' });
});

/** What is read and written in the thread. */
const LONG = { type: 'text', text: 'word '.repeat(120_000) };
const large = (content: object[], stop_reason: string) => whole([...content, LONG], stop_reason);

test.for([
  ['whole', whole],
  ['whole and large', large],
] as const)(
  'what a paused answer (%s) has cost before a time limit ends it is charged',
  async ([, reply]) => {
    stack.first.script(reply([SEARCH, FOUND], 'pause_turn'));
    stack.first.script({ ...streamed([], 'end_turn'), stallAfter: 1 });
    expect((await search([budget(1e9)], false)).status).toBe(504);
    expect(Number((await settled()).spent)).toBeGreaterThanOrEqual(9500);
  },
);

test('what goes on with a paused answer has the envelope of its platform', async () => {
  stack.first.script(whole([SEARCH, FOUND], 'pause_turn'));
  stack.first.script(whole([{ type: 'text', text: 'Whales.' }], 'end_turn'));
  expect(await (await search([], false, 'to-enveloped')).text()).toContain('Whales.');
  expect(stack.first.requests.map((one) => Object(one.json()).anthropic_version)).toEqual(['v1', 'v1']);
});

const REFUSED = { status: 500, json: { type: 'error', error: { type: 'api_error', message: 'No.' } } };

test.for([
  ['whole', whole],
  ['whole and large', large],
  ['collected', streamed],
] as const)(
  'what a paused answer (%s) has cost before its provider refuses to go on is charged',
  async ([, reply]) => {
    stack.first.script(reply([SEARCH, FOUND], 'pause_turn'));
    stack.first.script(REFUSED);
    expect((await search([budget(1e9)], false)).status).toBe(502);
    expect(await settled()).toEqual({ reserved: '0', spent: '9500' });
  },
);

test.for([
  ['whole', whole],
  ['collected', streamed],
] as const)(
  'what a paused answer (%s) has cost is charged beside the answer of the route that takes over',
  async ([, reply]) => {
    stack.first.script(reply([SEARCH, FOUND], 'pause_turn'));
    stack.first.script(REFUSED);
    stack.first.script(whole([{ type: 'text', text: 'Whales.' }], 'end_turn'));
    const answer = await search([budget(1e9)], false, 'to-several');
    expect(await answer.text()).toContain('Whales.');
    expect(await settled()).toEqual({ reserved: '0', spent: '19000' });
  },
);

test.for([
  ['whole', false, whole],
  ['as a stream', true, whole],
  ['whole and large', false, large],
] as const)('each unreadable reply is charged what it reports: %s', async ([, stream, reply]) => {
  const unreadable = reply([{ type: 'text', text: 7 }], 'end_turn');
  stack.first.script(unreadable);
  stack.first.script(unreadable);
  const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };
  const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Whales.' } }];
  stack.first.script({ json: { id: 'c', object: 'chat.completion', choices, usage } });
  const answer = await stack.text.fetch('/v1/responses', {
    body: { model: 'to-several', input: 'Look.', stream },
    identity: { keyId, accounts: [budget(1e9)] },
  });
  expect(await answer.text()).toContain('Whales.');
  expect(stack.first.requests).toHaveLength(3);
  expect(await settled()).toEqual({ reserved: '0', spent: String(2 * 9500 + 30) });
});

test.for([
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi.' }] }],
  ['/v1/responses', { input: 'Hi.' }],
] as const)(
  'what an upstream streams to a caller who does not is charged where a time limit ends it: %s',
  async ([path, body]) => {
    const chunk = { id: 'c', choices: [{ index: 0, delta: { content: 'word '.repeat(200) } }] };
    stack.first.script({ sse: `data: ${JSON.stringify(chunk)}\n\n`.repeat(2), stallAfter: 1 });
    const answer = await stack.text.fetch(path, {
      body: { model: 'to-chat', ...body },
      identity: { keyId, accounts: [budget(1e9)] },
    });
    expect(answer.status).toBe(504);
    // 1000 characters.
    expect(Number((await settled()).spent)).toBeGreaterThan(250);
  },
);

test('what a summary has cost before a time limit ends it is charged', async () => {
  const chunk = { id: 'c', choices: [{ index: 0, delta: { content: 'word '.repeat(200) } }] };
  stack.first.script({ sse: `data: ${JSON.stringify(chunk)}\n\n`.repeat(2), stallAfter: 1 });
  const answer = await stack.text.fetch('/v1/responses/compact', {
    body: {
      model: 'to-chat',
      input: [
        { role: 'user', content: 'Hi.' },
        { role: 'assistant', content: 'Hello.' },
      ],
    },
    identity: { keyId, accounts: [budget(1e9)] },
  });
  expect(answer.status).toBe(504);
  expect(Number((await settled()).spent)).toBeGreaterThan(250);
});

const sse = (...events: readonly { readonly type?: string; readonly [member: string]: unknown }[]): string =>
  events
    .map((event) => `${event.type ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
    .join('');

const WORDS = 'word '.repeat(40);
const ERROR = { type: 'server_error', code: 'server_error', message: 'No.' };
/** Of each protocol: a stream that reports 9,000 tokens of input and 500 of output before it breaks, and its error event. */
const REPORTED = {
  responses: [
    sse(
      {
        type: 'response.created',
        response: {
          id: 'resp_1',
          object: 'response',
          status: 'in_progress',
          output: [],
          usage: { input_tokens: 9000, output_tokens: 500, total_tokens: 9500 },
        },
      },
      {
        type: 'response.output_text.delta',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta: WORDS,
      },
    ),
    sse({
      type: 'response.failed',
      response: { id: 'resp_1', object: 'response', status: 'failed', error: ERROR, output: [] },
    }),
  ],
  messages: [
    sse(
      { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', usage: USAGE } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: WORDS } },
    ),
    sse({ type: 'error', error: { type: 'api_error', message: 'No.' } }),
  ],
  chat: [
    sse({
      id: 'c',
      choices: [{ index: 0, delta: { content: WORDS } }],
      usage: { prompt_tokens: 9000, completion_tokens: 500 },
    }),
    sse({ error: ERROR }),
  ],
} as const;

const CALLERS = [
  ['responses', '/v1/responses', { input: 'Hi.' }],
  ['chat', '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi.' }] }],
  ['messages', '/v1/messages', { max_tokens: 1000, messages: [{ role: 'user', content: 'Hi.' }] }],
] as const;
const PROTOCOLS = ['responses', 'messages', 'chat'] as const;
const BREAKS = ['reports an error', 'is cut', 'ends too early', 'turns to garbage'] as const;

const broken = (protocol: (typeof PROTOCOLS)[number], how: (typeof BREAKS)[number]) => {
  const [start, error] = REPORTED[protocol];
  if (how === 'reports an error') return { sse: start + error };
  if (how === 'turns to garbage') return { sse: `${start}data: {garbage\n\n` };
  return how === 'is cut' ? { sse: start, cutAfter: start.split('\n\n').length - 1 } : { sse: start };
};

test.for(
  PROTOCOLS.flatMap((protocol) =>
    CALLERS.flatMap(([caller, path, body]) => BREAKS.map((how) => ({ protocol, caller, path, body, how }))),
  ),
)(
  '$caller over $protocol: a caller who does not stream is charged what its upstream had reported before its stream $how',
  async ({ protocol, path, body, how }) => {
    stack.first.script(broken(protocol, how));
    const answer = await stack.text.fetch(path, {
      body: { model: `to-${protocol}`, ...body },
      identity: { keyId, accounts: [budget(1e9)] },
    });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(await settled()).toEqual({ reserved: '0', spent: '9500' });
  },
);

test.for(PROTOCOLS.flatMap((protocol) => BREAKS.map((how) => ({ protocol, how }))))(
  'a summary over $protocol is charged what its upstream had reported before its stream $how',
  async ({ protocol, how }) => {
    stack.first.script(broken(protocol, how));
    const answer = await stack.text.fetch('/v1/responses/compact', {
      body: { model: `to-${protocol}`, input: [{ role: 'user', content: 'Hi.' }] },
      identity: { keyId, accounts: [budget(1e9)] },
    });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(await settled()).toEqual({ reserved: '0', spent: '9500' });
  },
);

test('a summary that another route had to write is charged with the one before it', async () => {
  stack.first.script(broken('messages', 'ends too early'));
  const text = { type: 'text', text: 'A summary.' };
  const start = { type: 'content_block_start', index: 0, content_block: text };
  const begun = { id: 'msg_2', type: 'message', role: 'assistant', usage: USAGE };
  const written = sse(
    { type: 'message_start', message: begun },
    start,
    ...[
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: USAGE },
      { type: 'message_stop' },
    ],
  );
  stack.first.script({ sse: written });
  stack.first.script(whole([{ type: 'text', text: 'Whales.' }], 'end_turn'));
  const answer = await stack.text.fetch('/v1/responses', {
    body: {
      model: 'to-several',
      input: [{ role: 'user', content: 'word '.repeat(2000) }],
      context_management: [{ type: 'compaction', compact_threshold: 1000 }],
    },
    identity: { keyId, accounts: [budget(1e9)] },
  });
  expect(await answer.text()).toContain('Whales.');
  expect(await settled()).toEqual({ reserved: '0', spent: String(3 * 9500) });
});

const SEARCHED = sse(
  { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', usage: USAGE } },
  { type: 'content_block_start', index: 0, content_block: SEARCH },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: FOUND },
  { type: 'content_block_stop', index: 1 },
  { type: 'content_block_start', index: 2, content_block: { ...SEARCH, id: 'srvtoolu_2' } },
);
const FAILED_SEARCH = sse({
  type: 'content_block_start',
  index: 3,
  content_block: {
    ...FOUND,
    tool_use_id: 'srvtoolu_2',
    content: { type: 'web_search_tool_result_error', error_code: 'unavailable' },
  },
});

test.for([
  ['passed, streamed', '/v1/messages', true, '', 2],
  ['passed, whole', '/v1/messages', false, '', 2],
  ['translated, streamed', '/v1/responses', true, '', 2],
  ['translated, whole', '/v1/responses', false, '', 2],
  ['passed, one failed', '/v1/messages', true, FAILED_SEARCH, 1],
  ['translated, one failed', '/v1/responses', false, FAILED_SEARCH, 1],
] as const)(
  'searches that were seen to begin are charged where their stream breaks before it counts them: %s',
  async ([, path, stream, more, searches]) => {
    stack.first.script({ sse: SEARCHED + more });
    const body =
      path === '/v1/messages'
        ? {
            max_tokens: 1000,
            messages: [{ role: 'user', content: 'Look.' }],
            tools: [{ type: 'web_search_20250305', name: 'web_search' }],
          }
        : { input: 'Look.', tools: [{ type: 'web_search' }] };
    const answer = await stack.text.fetch(path, {
      body: { model: 'to-searches', stream, ...body },
      identity: { keyId, accounts: [budget(1e9)] },
    });
    await answer.text();
    expect(await settled()).toEqual({ reserved: '0', spent: String(9500 + searches * 10_000) });
  },
);
