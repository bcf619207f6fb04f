import type { Account } from '@gateway/contracts/identity';
import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { redisNames } from '@gateway/metering/redis-names';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type Stack, startStack } from '../testing/start-stack.ts';
import { PATHS, requestOf, TEXT_PROTOCOLS, type TextProtocolName } from '../testing/text-pairs.ts';

/** What replies cost that failed before their caller got any of them. Prices: 1 $ for a million tokens. */
let stack: Stack;
let keys = 0;
let keyId = '';

beforeAll(async () => {
  const model = (...channels: readonly string[]) =>
    `{ kind: text, maxOutputTokens: 1000, contextWindow: 100000, routes: [${channels.map((channel, priority) => `{ channel: ${channel}, priority: ${priority} }`).join(', ')}], price: { inputPerMTok: 1, outputPerMTok: 1 } }`;
  stack = await startStack({
    configuration: (first) => `
channels:
  messages: { provider: simulator, baseUrl: "${first}", speaks: [messages], cooldown: off }
  chat: { provider: simulator, baseUrl: "${first}", speaks: [chat], cooldown: off }
  responses: { provider: simulator, baseUrl: "${first}", speaks: [responses], cooldown: off, quirks: { backgroundResponses: false } }
${TEXT_PROTOCOLS.map((one) => `  silent-${one}: { provider: simulator, baseUrl: "${first}", speaks: [${one}], cooldown: off, timeouts: { firstOutputMs: 300, idleMs: 300 } }`).join('\n')}
  second: { provider: simulator, baseUrl: "${first}", speaks: [chat], cooldown: off }
models:
${TEXT_PROTOCOLS.map((one) => `  silent-${one}: ${model(`silent-${one}`)}`).join('\n')}
  over-responses: ${model('responses')}
  over-messages: ${model('messages')}
  over-chat: ${model('chat')}
  responses-then-silence: ${model('responses', 'silent-chat')}
  responses-then-another: ${model('responses', 'second')}
  messages-then-another: ${model('messages', 'second')}
  chat-then-another: ${model('chat', 'second')}
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeAll(() => stack.text.startWorker());
beforeEach(() => {
  keys += 1;
  keyId = `key_${keys}`;
  stack.first.reset();
});

const account = () => stack.redis.hgetall(redisNames.account(keyId, 'total'));
const settled = async () => {
  await waitFor(async () => {
    const { reserved, spent } = await account();
    return Number(reserved) === 0 && spent !== undefined;
  });
  return account();
};

const send = (
  caller: TextProtocolName,
  model: string,
  stream: boolean,
  signal?: AbortSignal,
  more: object = {},
) => {
  const budget: Account = {
    owner: keyId,
    limits: {},
    budget: { microUsd: 1e9, period: 'total', allowUnpriced: false },
  };
  return stack.text.fetch(PATHS[caller], {
    body: requestOf(caller, model, 'Hi.', { stream, ...more }),
    ...(signal && { signal }),
    identity: { keyId, accounts: [budget] },
  });
};

const sse = (...events: readonly { readonly type?: string; readonly [member: string]: unknown }[]): string =>
  events
    .map((event) => `${event.type ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
    .join('');

const ERROR = { type: 'server_error', code: 'server_error', message: 'No.' };
const COUNTS = { input_tokens: 9000, output_tokens: 500 };
const CHAT_COUNTS = { prompt_tokens: 9000, completion_tokens: 500 };
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', usage: COUNTS };
const RESPONSE = { id: 'resp_1', object: 'response', output: [], usage: COUNTS };

/** Streams that report what they have used, and have no output: those that report an error, and those that end. */
const STREAMS = {
  responses: {
    failed: sse(
      { type: 'response.created', response: { ...RESPONSE, status: 'in_progress' } },
      {
        type: 'response.failed',
        response: { id: 'resp_1', object: 'response', status: 'failed', error: ERROR },
      },
    ),
    ended: sse({ type: 'response.created', response: { ...RESPONSE, status: 'in_progress' } }),
    'failed with usage': sse({
      type: 'response.failed',
      response: { ...RESPONSE, status: 'failed', error: ERROR },
    }),
  },
  messages: {
    failed: sse(
      { type: 'message_start', message: MESSAGE },
      { type: 'error', error: { type: 'overloaded_error', message: 'No.' } },
    ),
    ended: sse({ type: 'message_start', message: MESSAGE }, { type: 'ping' }),
    'failed with usage': sse({
      type: 'error',
      error: { type: 'api_error', message: 'No.' },
      usage: COUNTS,
    }),
  },
  chat: {
    failed: sse(
      { id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }], usage: CHAT_COUNTS },
      { error: ERROR },
    ),
    ended: sse({ id: 'c', choices: [], usage: CHAT_COUNTS }),
    'failed with usage': sse({ error: ERROR, choices: [], usage: CHAT_COUNTS }),
  },
} as const;

/** Bodies that report what they have used beside the reason why they are no answer. */
const REFUSALS = {
  responses: { ...RESPONSE, status: 'failed', error: ERROR },
  messages: { ...MESSAGE, content: [], stop_reason: null, error: ERROR },
  chat: { id: 'c', object: 'chat.completion', choices: null, error: ERROR, usage: CHAT_COUNTS },
} as const;

const ANSWER = {
  json: {
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Whales.' } }],
    usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 },
  },
};
const REPORTED = 9500;

const PAIRS = TEXT_PROTOCOLS.flatMap((caller) => TEXT_PROTOCOLS.map((protocol) => ({ caller, protocol })));
const HOW = ['failed', 'ended', 'failed with usage'] as const;

test.for(PAIRS.flatMap((pair) => HOW.map((how) => ({ ...pair, how }))))(
  '$caller over $protocol: what a stream reported before its first output is charged beside the answer of another route: $how',
  async ({ caller, protocol, how }) => {
    stack.first.script({ sse: STREAMS[protocol][how] });
    stack.first.script(ANSWER);
    const answer = await send(caller, `${protocol}-then-another`, true);
    expect(await answer.text()).toContain('Whales.');
    expect(stack.first.requests).toHaveLength(2);
    expect(await settled()).toEqual({ reserved: '0', spent: String(REPORTED + 30) });
  },
);

test.for(PAIRS)(
  '$caller over $protocol: what a refusal under a 2xx reports is charged, whether another route answers or none',
  async ({ caller, protocol }) => {
    stack.first.script({ json: REFUSALS[protocol] });
    stack.first.script(ANSWER);
    expect(await (await send(caller, `${protocol}-then-another`, false)).text()).toContain('Whales.');
    expect(await settled()).toEqual({ reserved: '0', spent: String(REPORTED + 30) });
    stack.first.script({ json: REFUSALS[protocol] });
    expect((await send(caller, `over-${protocol}`, false)).status).toBeGreaterThanOrEqual(500);
    await waitFor(async () => (await account()).spent !== String(REPORTED + 30));
    expect(await settled()).toEqual({ reserved: '0', spent: String(REPORTED + 30 + REPORTED) });
  },
);

test.for(TEXT_PROTOCOLS)('a refusal that reports nothing, or zeros, costs nothing: %s', async (protocol) => {
  const { usage: _, ...without } = REFUSALS[protocol];
  const zeros = { input_tokens: 0, output_tokens: 0, prompt_tokens: 0, completion_tokens: 0 };
  for (const json of [without, { ...without, usage: zeros }]) {
    stack.first.script({ json });
    expect((await send(protocol, `over-${protocol}`, false)).status).toBeGreaterThanOrEqual(500);
  }
  await waitFor(async () => Number((await account()).reserved) === 0);
  expect(Number((await account()).spent ?? 0)).toBe(0);
});

const TEXT = 'word '.repeat(400);
/** Whole answers of 2,000 characters: those that report what they have used before them, and those that would do so at their end. */
const ANSWERS = {
  responses: (usage: object, last: object) => ({
    ...{ id: 'resp_1', object: 'response', status: 'completed', ...usage },
    output: [
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: TEXT }] },
    ],
    ...last,
  }),
  messages: (usage: object, last: object) => ({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', ...usage },
    content: [{ type: 'text', text: TEXT }],
    ...last,
  }),
  chat: (usage: object, last: object) => ({
    ...{ id: 'c', object: 'chat.completion', ...usage },
    choices: [{ index: 0, message: { role: 'assistant', content: TEXT } }],
    ...last,
  }),
} as const;
const countsOf = (protocol: TextProtocolName) => ({ usage: protocol === 'chat' ? CHAT_COUNTS : COUNTS });

/** How a whole body breaks within its text. */
const BREAKS = [
  { how: 'is cut', script: (json: object) => ({ json, cutAfter: 1 }) },
  {
    how: 'ends too early',
    script: (json: object) => {
      const text = JSON.stringify(json);
      const headers = { 'content-type': 'application/json' };
      return { body: text.slice(0, text.indexOf('word') + 1200), headers };
    },
  },
] as const;
const BROKEN = PAIRS.flatMap((pair) => BREAKS.map((one) => ({ ...pair, ...one })));

test.for(BROKEN)(
  '$caller over $protocol: what a body reports is charged that $how',
  async ({ caller, protocol, script }) => {
    const body = ANSWERS[protocol](countsOf(protocol), {});
    stack.first.script(script(body));
    expect((await send(caller, `over-${protocol}`, false)).status).toBeGreaterThanOrEqual(500);
    expect(await settled()).toEqual({ reserved: '0', spent: String(REPORTED) });
    stack.first.script(script(body));
    stack.first.script(ANSWER);
    expect(await (await send(caller, `${protocol}-then-another`, false)).text()).toContain('Whales.');
    await waitFor(async () => (await account()).spent !== String(REPORTED));
    expect(await settled()).toEqual({ reserved: '0', spent: String(2 * REPORTED + 30) });
  },
);

test.for(BROKEN)(
  '$caller over $protocol: what has come of a body is estimated that $how before its report',
  async ({ caller, protocol, script }) => {
    stack.first.script(script(ANSWERS[protocol]({}, countsOf(protocol))));
    expect((await send(caller, `over-${protocol}`, false)).status).toBeGreaterThanOrEqual(500);
    // Some 1,000 of 2,000 characters, and the request.
    const spent = Number((await settled()).spent);
    expect(spent).toBeGreaterThan(200);
    expect(spent).toBeLessThan(400);
  },
);

test.for(TEXT_PROTOCOLS)(
  'over %s only the beginning is read of a very large body that is cut',
  async (protocol) => {
    const written = JSON.stringify(ANSWERS[protocol]({}, {})).replace(TEXT, TEXT.repeat(6000));
    stack.first.script({ json: JSON.parse(written), cutAfter: 1 });
    let longest = 0;
    const { parse } = JSON;
    using _ = vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
      longest = Math.max(longest, text.length);
      return parse(text, reviver);
    });
    expect((await send(protocol, `over-${protocol}`, false)).status).toBeGreaterThanOrEqual(500);
    // Four characters a token, of the four megabytes that are read.
    expect(Number((await settled()).spent)).toBeGreaterThan(1_000_000);
    expect(longest).toBeLessThan(4.1 * 1024 * 1024);
  },
);

test.for(PAIRS)(
  '$caller over $protocol: what a body reports is charged that falls silent until its time limit',
  async ({ caller, protocol }) => {
    stack.first.script({ json: ANSWERS[protocol](countsOf(protocol), {}), stallAfter: 1 });
    expect((await send(caller, `silent-${protocol}`, false)).status).toBe(504);
    expect(await settled()).toEqual({ reserved: '0', spent: String(REPORTED) });
  },
);

test.for(PAIRS)(
  '$caller over $protocol: a caller who leaves is charged what had come of the body',
  async ({ caller, protocol }) => {
    stack.first.script({ json: ANSWERS[protocol](countsOf(protocol), {}), stallAfter: 1 });
    const leaving = new AbortController();
    const answer = send(caller, `over-${protocol}`, false, leaving.signal);
    await waitFor(() => stack.first.requests.length === 1);
    leaving.abort();
    await expect(answer).rejects.toThrow();
    const spent = Number((await settled()).spent);
    // The body may not have arrived yet.
    expect(spent === REPORTED || spent < 100).toBe(true);
  },
);

const records = async (): Promise<UsageRecord[]> => {
  const entries = await stack.redis.xrange(
    redisNames.records(new Date().toISOString().slice(0, 10)),
    '-',
    '+',
  );
  return entries.map(([, fields]) => UsageRecord.parse(JSON.parse(fields[1] ?? '')));
};
const WAYS = {
  'over a WebSocket': async (model: string) => {
    using socket = await stack.text.webSocket();
    socket.send({ type: 'response.create', model, input: 'Hi.', store: false });
    await socket.answer();
  },
  'in the background': async (model: string) =>
    void (await (await send('responses', model, false, undefined, { background: true })).text()),
  'in the background, streamed': async (model: string) =>
    void (await (await send('responses', model, true, undefined, { background: true })).text()),
};

test.for(
  TEXT_PROTOCOLS.flatMap((protocol) =>
    Object.entries(WAYS).map(([how, begin]) => ({ protocol, how, begin })),
  ),
)(
  '$how, over $protocol: what a reply reported that was no answer is charged, whether another route answers or none',
  async ({ protocol, begin }) => {
    const before = (await records()).length;
    const sums = async (count: number) => {
      const all = await waitFor(async () => {
        const now = await records();
        return now.length === before + count && now;
      });
      const { consumption, costMicroUsd } = all.at(-1) ?? {};
      return [(consumption?.inputTokens ?? 0) + (consumption?.outputTokens ?? 0), costMicroUsd];
    };
    stack.first.script({ sse: STREAMS[protocol].failed });
    stack.first.script(ANSWER);
    await begin(`${protocol}-then-another`);
    expect(await sums(1)).toEqual([REPORTED + 30, REPORTED + 30]);
    stack.first.script({ sse: STREAMS[protocol].failed });
    await begin(`over-${protocol}`);
    expect(await sums(2)).toEqual([REPORTED, REPORTED]);
  },
);

test('an attempt that may be billed is charged its input beside what an earlier one has reported', async () => {
  stack.first.script({ json: REFUSALS.responses });
  stack.first.script({ ...ANSWER, slowFirstByteMs: 60_000 });
  expect((await send('responses', 'responses-then-silence', false)).status).toBe(504);
  const spent = Number((await settled()).spent);
  expect(spent).toBeGreaterThan(REPORTED);
  expect(spent).toBeLessThan(REPORTED + 100);
});

const SEARCH = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
test('what a refusal to go on with a paused answer reports is charged with the answer', async () => {
  stack.first.script({ json: { ...MESSAGE, content: [SEARCH], stop_reason: 'pause_turn' } });
  stack.first.script({ json: REFUSALS.messages });
  const tools = [{ type: 'web_search' }];
  expect(
    (await send('responses', 'over-messages', false, undefined, { tools })).status,
  ).toBeGreaterThanOrEqual(500);
  expect(await settled()).toEqual({ reserved: '0', spent: String(2 * REPORTED) });
});
