import { recordedStream } from '@gateway/simulator/recorded-stream';
import type { ScriptedReply } from '@gateway/simulator/script/script-queue';
import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../../testing/start-stack.ts';
import type { TextProtocolName as TextProtocol } from '../../testing/text-pairs.ts';

const PROTOCOLS = ['responses', 'messages', 'chat'] as const;

/** For each protocol a model with two routes, each to another provider that speaks nothing else; and one with the first route alone. */
const configuration = (first: string, second: string): string => `
channels:
${PROTOCOLS.map(
  (protocol) => `
  ${protocol}-one: { provider: simulator, baseUrl: "${first}", apiKey: k, cooldown: off, speaks: [${protocol}] }
  ${protocol}-impatient: { provider: simulator, baseUrl: "${first}", apiKey: k, cooldown: off, speaks: [${protocol}], timeouts: { firstOutputMs: 200, idleMs: 150 } }
  ${protocol}-two: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [${protocol}] }`,
).join('')}
  late: { provider: simulator, baseUrl: "${first}", apiKey: k, cooldown: off, timeouts: { firstOutputMs: 300 } }
models:
${PROTOCOLS.map(
  (protocol) => `
  ${protocol}: { kind: text, routes: [{ channel: ${protocol}-one }, { channel: ${protocol}-two, priority: 1 }] }
  ${protocol}-alone: { kind: text, routes: [{ channel: ${protocol}-one }] }
  ${protocol}-silent: { kind: text, routes: [{ channel: ${protocol}-impatient }, { channel: ${protocol}-two, priority: 1 }] }
  ${protocol}-silent-alone: { kind: text, routes: [{ channel: ${protocol}-impatient }] }`,
).join('')}
  late: { kind: text, routes: [{ channel: late }, { channel: responses-two, priority: 1 }] }
  late-alone: { kind: text, routes: [{ channel: late }] }
`;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ configuration });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const messages = [{ role: 'user', content: 'hi' }];
const CALLERS: Record<TextProtocol, { path: string; body: object; last: string }> = {
  responses: { path: '/v1/responses', body: { input: 'hi' }, last: 'response.completed' },
  messages: { path: '/v1/messages', body: { messages, max_tokens: 50 }, last: 'message_stop' },
  chat: { path: '/v1/chat/completions', body: { messages }, last: '[DONE]' },
};

const EMPTY_TEXT = { type: 'output_text', text: '', annotations: [] };
const EMPTY_MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [] };

let requests = 0;
async function send(caller: TextProtocol, model: string, more: object = { stream: true }) {
  requests += 1;
  const id = `req_falling_${requests}`;
  const { path, body } = CALLERS[caller];
  const reply = await stack.text.fetch(path, {
    body: { model, ...body, ...more },
    headers: { 'x-request-id': id },
  });
  const line = () => waitFor(() => stack.text.lines.find(({ requestId }) => requestId === id));
  return { reply, line };
}

const attemptsOf = (reply: Response): string =>
  (reply.headers.get('x-gateway-attempts') ?? '').replaceAll(/;ms=\d+/g, '');

/** How many events each protocol's streams have before their first output; the last ones begin an empty text. */
const STARTS: Record<TextProtocol, number> = { responses: 4, messages: 3, chat: 1 };

/** How a stream breaks after so many events, and what the attempt is called then. */
const BREAKS = [
  ['is cut', (after: number) => ({ cutAfter: after }), 'one', /^failed$/],
  ['closes', (after: number) => ({ endAfter: after }), 'one', /^failed$/],
  ['turns to garbage', (after: number) => ({ garbageAfter: after }), 'one', /^failed$/],
  ['reports an error', (after: number) => ({ errorEventAfter: after }), 'one', /^(failed|overloaded)$/],
  ['falls silent', (after: number) => ({ stallAfter: after }), 'impatient', /^timeout$/],
] as const;

/** The model whose first route is this channel. */
const modelOf = (protocol: TextProtocol, channel: 'one' | 'impatient'): string =>
  channel === 'one' ? protocol : `${protocol}-silent`;

const CASES = PROTOCOLS.flatMap((caller) =>
  PROTOCOLS.flatMap((upstream) =>
    BREAKS.flatMap(([how, directive, channel, outcome]) =>
      [...new Set([0, 1, STARTS[upstream]])].map((after) => ({
        caller,
        upstream,
        how,
        directive,
        channel,
        outcome,
        after,
      })),
    ),
  ),
);

test.for(CASES)(
  '$caller over $upstream: a stream that $how after $after start events is replaced by another channel',
  async ({ caller, upstream, directive, channel, outcome, after }) => {
    stack.first.script(directive(after));
    const { reply, line } = await send(caller, modelOf(upstream, channel));
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-gateway-channel')).toBe(`${upstream}-two`);
    const [first = '', second, ...more] = attemptsOf(reply).split(', ');
    expect(first.split(';')[0]).toBe(`"${upstream}-${channel}"`);
    expect(/outcome=([a-z-]+)/.exec(first)?.[1]).toMatch(outcome);
    expect([second, ...more]).toEqual([`"${upstream}-two";outcome=ok;status=200`]);
    const events = await collectSse(reply);
    const ending = caller === 'chat' ? events.at(-1)?.data : events.findLast(({ event }) => event)?.event;
    expect(ending).toBe(CALLERS[caller].last);
    expect(JSON.stringify(events)).not.toContain('"error":{');
    expect(await line()).toMatchObject({
      outcome: 'ok',
      attempts: 2,
      channel: `${upstream}-two`,
      attemptList: expect.stringContaining(`"${upstream}-${channel}";outcome=`),
    });
  },
);

test.for(PROTOCOLS)('%s: alone, such a stream is an error with its HTTP status', async (protocol) => {
  for (const [, directive, channel] of BREAKS) {
    stack.first.script(directive(STARTS[protocol]));
    const { reply, line } = await send(protocol, `${modelOf(protocol, channel)}-alone`);
    expect(reply.status).toBeGreaterThanOrEqual(500);
    expect(reply.headers.get('content-type')).toBe('application/json');
    expect(reply.headers.get('x-gateway-refused-by')).toBe('upstream');
    expect(attemptsOf(reply)).toMatch(new RegExp(`^"${protocol}-${channel}";outcome=[a-z]+;status=\\d+$`));
    expect(await line()).toMatchObject({ outcome: 'failed', attempts: 1 });
  }
});

test.for([
  ['responses', 'responses-text'],
  ['messages', 'messages-text'],
] as const)('%s: events that were held back go out byte for byte', async ([protocol, name]) => {
  const sse = recordedStream(name).toString();
  for (const cuts of ['events', 'bytes', 'whole', [7, 300]] as const) {
    stack.first.script({ sse, cuts });
    const { reply } = await send(protocol, protocol);
    expect(await reply.text()).toBe(sse);
    expect(attemptsOf(reply)).toBe(`"${protocol}-one";outcome=ok;status=200`);
  }
});

const WHOLE_BREAKS: readonly (readonly [string, ScriptedReply])[] = [
  ['breaks off', { cutAfter: 1 }],
  ['breaks off after a lot', { tokens: 60_000, cutAfter: 1 }],
  ['is garbage', { garbageAfter: 0 }],
  ['is empty', { empty: true }],
  ['is JSON, but no answer', { json: { hello: 'world' } }],
];

test.for(
  PROTOCOLS.flatMap((caller) =>
    PROTOCOLS.flatMap((upstream) => WHOLE_BREAKS.map(([how, script]) => ({ caller, upstream, how, script }))),
  ).filter(({ caller, upstream, how }) => caller !== upstream || how !== 'is JSON, but no answer'),
)(
  '$caller over $upstream: a whole reply that $how is another channel’s',
  async ({ caller, upstream, script }) => {
    stack.first.script(script);
    const { reply, line } = await send(caller, upstream, {});
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-gateway-channel')).toBe(`${upstream}-two`);
    expect(JSON.stringify(await reply.json())).toContain('You said: hi');
    expect(attemptsOf(reply)).toContain(`"${upstream}-two";outcome=ok`);
    expect(await line()).toMatchObject({ outcome: 'ok', attempts: 2 });
  },
);

const failures = async (channel: string): Promise<number> => {
  const { values } = (await stack.text.metrics.registry
    .getSingleMetric('gateway_channel_failures_total')
    ?.get()) ?? { values: [] };
  return values.find(({ labels }) => labels.channel === channel)?.value ?? 0;
};

test.for([
  ['messages', 'responses', {}, { json: { hello: 'world' } }],
  ['chat', 'responses', { stream: true }, { endAfter: 5 }],
  ['responses', 'responses', { stream: true }, { endAfter: 5 }],
  ['responses', 'chat', {}, { sse: 'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: 1\n\n' }],
] as const)(
  '%s over %s: an answer that cannot be read is a failure of its channel: %o, %o',
  async ([caller, upstream, more, script]) => {
    const before = await failures(`${upstream}-one`);
    stack.first.script(script);
    await (await send(caller, upstream, more)).reply.text();
    expect(await failures(`${upstream}-one`)).toBe(before + 1);
  },
);

/** Answers whose text begins and ends with nothing in it. */
const EMPTY_ANSWERS: Record<TextProtocol, readonly object[]> = {
  responses: [
    {
      type: 'response.created',
      response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [] },
    },
    { type: 'response.output_item.added', output_index: 0, item: EMPTY_MESSAGE },
    { type: 'response.content_part.added', output_index: 0, content_index: 0, part: EMPTY_TEXT },
    { type: 'response.output_text.done', output_index: 0, content_index: 0, text: '' },
    { type: 'response.content_part.done', output_index: 0, content_index: 0, part: EMPTY_TEXT },
    { type: 'response.output_item.done', output_index: 0, item: { ...EMPTY_MESSAGE, content: [EMPTY_TEXT] } },
    {
      type: 'response.completed',
      response: {
        ...{ id: 'resp_1', object: 'response', status: 'completed' },
        output: [{ ...EMPTY_MESSAGE, content: [EMPTY_TEXT] }],
        usage: { input_tokens: 5, output_tokens: 1, total_tokens: 6 },
      },
    },
  ],
  messages: [
    {
      type: 'message_start',
      message: {
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null },
        usage: { input_tokens: 5, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ],
  chat: [
    { id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] },
    { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ],
};

const framesOf = (events: readonly object[]): string =>
  events
    .map((event) => `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
    .join('');

test.for(PROTOCOLS.flatMap((caller) => PROTOCOLS.map((upstream) => ({ caller, upstream }))))(
  '$caller over $upstream: an answer that is truly empty is delivered whole',
  async ({ caller, upstream }) => {
    const sse = framesOf(EMPTY_ANSWERS[upstream]) + (upstream === 'chat' ? 'data: [DONE]\n\n' : '');
    stack.first.script({ sse });
    const { reply, line } = await send(caller, upstream);
    expect(attemptsOf(reply)).toBe(`"${upstream}-one";outcome=ok;status=200`);
    const text = await reply.text();
    if (caller === upstream) expect(text).toBe(sse);
    expect(text).toContain(CALLERS[caller].last);
    expect(await line()).toMatchObject({ outcome: 'ok' });
  },
);

test("a caller's own mistake after start events reaches it as the provider reports it", async () => {
  const created = 'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_1"}}\n\n';
  const failed =
    'event: response.failed\ndata: {"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"context_length_exceeded","message":"too long"}}}\n\n';
  stack.first.script({ sse: created + failed });
  const { reply, line } = await send('responses', 'responses');
  expect(await reply.text()).toBe(created + failed);
  expect(attemptsOf(reply)).toBe('"responses-one";outcome=ok;status=200');
  expect(await line()).toMatchObject({ outcome: 'failed' });
});

test('a conflict is the caller’s: no other channel is tried', async () => {
  stack.first.script({ status: 409 });
  const { reply } = await send('responses', 'responses');
  expect(reply.status).toBe(409);
  expect(attemptsOf(reply)).toBe('"responses-one";outcome=rejected;status=409');
  expect(stack.second.requests).toHaveLength(0);
});

test('a first output that is late is another channel’s; the last channel may take longer', async () => {
  stack.first.script({ sse: recordedStream('responses-text'), stallAfter: 4 });
  const { reply } = await send('responses', 'late');
  expect(attemptsOf(reply)).toBe('"late";outcome=timeout;status=200, "responses-two";outcome=ok;status=200');
  const gate = Promise.withResolvers<void>();
  const sse = recordedStream('responses-text').toString();
  stack.first.script({ sse, stallAfter: 4, resume: gate.promise });
  const { reply: alone } = await send('responses', 'late-alone');
  // Its start events have gone out, since no other candidate can be called.
  gate.resolve();
  expect(await alone.text()).toBe(sse);
});
