import type { Account } from '@gateway/contracts/identity';
import { redisNames } from '@gateway/metering/redis-names';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type Stack, startStack, WITH_TRANSLATED } from '../testing/start-stack.ts';

/** What could refuse a caller's next request has been given back before the caller learns of the end of this one. */

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ configuration: WITH_TRANSLATED });
});
afterAll(() => stack[Symbol.asyncDispose]());
afterEach(() => {
  vi.restoreAllMocks();
  stack.first.reset();
});

let keys = 0;
/** A caller of its own, with one request at a time and one answer's worth of tokens. */
function caller() {
  keys += 1;
  const keyId = `key_back_${keys}`;
  const limits: Account['limits'] = { concurrentRequests: 1, tokensPerMinute: 1_000_000 };
  return { keyId, accounts: [{ owner: keyId, limits, budget: null }] };
}

const messages = [{ role: 'user', content: 'hi' }];
const REQUESTS = {
  responses: ['/v1/responses', { model: 'gpt-5.2', input: 'hi' }],
  unstored: ['/v1/responses', { model: 'gpt-5.2', input: 'hi', store: false }],
  messages: ['/v1/messages', { model: 'claude-sonnet-5-5', max_tokens: 200, messages }],
  chat: ['/v1/chat/completions', { model: 'gpt-5.2', messages }],
  translated: ['/v1/responses', { model: 'translated', input: 'hi' }],
  'translated chat': ['/v1/chat/completions', { model: 'translated', messages }],
} as const;

/** Holds up what `mock` has taken over until it is let go on. */
function barrier() {
  const reached = Promise.withResolvers<void>();
  const passed = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    open: passed.resolve,
    wait: () => {
      reached.resolve();
      return passed.promise;
    },
  };
}

/** Resolves to the order in which a request gives back, another caller's is answered, and the request ends for its caller. */
async function orderOf(
  give: { readonly reached: Promise<void>; open(): void },
  log: string[],
  ask: () => Promise<string>,
): Promise<readonly string[]> {
  const asking = ask().then((text) => {
    log.push('ended');
    return text;
  });
  await Promise.race([give.reached, asking]);
  const [path, body] = REQUESTS.chat;
  await (await stack.text.fetch(path, { body })).text();
  log.push("another's");
  give.open();
  await asking;
  return log;
}

function heldLimits(log: string[]) {
  const { meter } = stack.text.services;
  const held = barrier();
  const { sent } = meter;
  vi.spyOn(meter, 'sent').mockImplementationOnce(async () => {
    await held.wait();
    await sent();
    log.push('given back');
  });
  return held;
}

async function expectFree(owner: string): Promise<void> {
  expect(await stack.redis.zcard(redisNames.slots(owner))).toBe(0);
  const open = await stack.redis.zrange(redisNames.openReservations, '0', '-1');
  const reserved = await Promise.all(open.map((id) => stack.redis.hget(redisNames.reservation(id), 'about')));
  expect(reserved.filter((about) => about?.includes(owner))).toEqual([]);
}

const GIVEN_BACK_FIRST = ["another's", 'given back', 'ended'];

const cases = Object.entries(REQUESTS).flatMap(([name, request]) =>
  [false, true].map((stream) => ({ name, request, stream })),
);

test.for(cases)('$name, streamed $stream: slots and tokens are free before the last byte', async (one) => {
  const identity = caller();
  const [path, body] = one.request;
  const log: string[] = [];
  const ask = async () => {
    const response = await stack.text.fetch(path, { body: { ...body, stream: one.stream }, identity });
    expect(response.status).toBe(200);
    return response.text();
  };
  expect(await orderOf(heldLimits(log), log, ask)).toEqual(GIVEN_BACK_FIRST);
  await expectFree(identity.keyId);
});

const chunk = (delta: object, finish_reason: string | null) => ({
  data: {
    id: 'c',
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  },
});
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
const answered = { ...{ id: 'resp_1', object: 'response', model: 'm', status: 'completed' }, output: [] };

/** The end of an answer, after which the connection stays open without a marker or a report of usage. */
test.for([
  ['chat', [chunk({ content: 'Hi.' }, null), chunk({}, 'stop')], '"finish_reason":"stop"'],
  [
    'messages',
    [
      {
        event: 'message_start',
        data: { message: { ...message, usage: { input_tokens: 9, output_tokens: 1 } } },
      },
      { event: 'content_block_start', data: { index: 0, content_block: { type: 'text', text: 'Hi.' } } },
      { event: 'content_block_stop', data: { index: 0 } },
      { event: 'message_delta', data: { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } } },
    ],
    '"stop_reason":"end_turn"',
  ],
  [
    'unstored',
    [
      { event: 'response.output_text.delta', data: { output_index: 0, content_index: 0, delta: 'Hi.' } },
      { event: 'response.completed', data: { response: answered } },
    ],
    '"type":"response.completed"',
  ],
] as const)('%s: who stops reading at the last event may go on at once', async ([name, events, last]) => {
  const sse = events.map((one) => {
    const data = 'event' in one ? { type: one.event, ...one.data } : one.data;
    return `${'event' in one ? `event: ${one.event}\n` : ''}data: ${JSON.stringify(data)}\n\n`;
  });
  stack.first.script({ sse: `${sse.join('')}data: [DONE]\n\n`, cuts: 'events', stallAfter: sse.length });
  const identity = caller();
  const [path, body] = REQUESTS[name];
  const log: string[] = [];
  const ask = async () => {
    const response = await stack.text.fetch(path, { body: { ...body, stream: true }, identity });
    let text = '';
    for await (const part of response.body ?? []) {
      text += Buffer.from(part).toString();
      if (text.includes(last)) break;
    }
    expect(text).toContain(last);
    return text;
  };
  expect(await orderOf(heldLimits(log), log, ask)).toEqual(GIVEN_BACK_FIRST);
});

test.for([
  ['an answer that its provider refuses', { status: 400 }, 400],
  ['a stream that breaks in the middle', { cutAfter: 6, cuts: 'events' }, 200],
] as const)('%s gives back before its end too', async ([, script, status]) => {
  const identity = caller();
  const [path, body] = REQUESTS.messages;
  stack.first.script(script);
  const log: string[] = [];
  const ask = async () => {
    const response = await stack.text.fetch(path, { body: { ...body, stream: true }, identity });
    expect(response.status).toBe(status);
    return response.text();
  };
  expect(await orderOf(heldLimits(log), log, ask)).toEqual(GIVEN_BACK_FIRST);
  await expectFree(identity.keyId);
});

test('a request that is refused for itself gives back before its caller learns it', async () => {
  const identity = caller();
  for (const body of [
    { model: 'nobody', input: 'hi' },
    { model: 'gpt-5.2', input: 'hi', temperature: 9 },
  ]) {
    const response = await stack.text.fetch('/v1/responses', { body, identity });
    expect([400, 404]).toContain(response.status);
    await response.text();
    await expectFree(identity.keyId);
  }
});

test.for([
  ['whole', {}],
  ['in a stream that breaks', { cutAfter: 3, cuts: 'events' }],
] as const)('a conversation is free before the end of its turn, %s', async ([, script]) => {
  const { conversations } = stack.text.services;
  const created = await stack.text.fetch('/v1/conversations', { body: {} });
  const { id } = z.object({ id: z.string() }).parse(await created.json());
  const log: string[] = [];
  const held = barrier();
  const { claim } = conversations;
  vi.spyOn(conversations, 'claim').mockImplementation(async (...args) => {
    const claimed = await claim(...args);
    if (claimed === null || !args[1].startsWith('conversation:')) return claimed;
    const release = async () => {
      await held.wait();
      await claimed.release();
      log.push('given back');
    };
    return { ...claimed, release };
  });
  stack.first.script(script);
  const ask = async () => {
    const body = { model: 'translated', input: 'hi', conversation: id, stream: true };
    return (await stack.text.fetch('/v1/responses', { body })).text();
  };
  expect(await orderOf(held, log, ask)).toEqual(GIVEN_BACK_FIRST);
});

test('over a WebSocket the next response is let in as soon as the last event of the one before is there', async () => {
  const limits = { concurrentRequests: 1, tokensPerMinute: 1_000_000 };
  const { secret, record } = await stack.text.keys.createKey({ name: 'narrow', limits });
  using socket = await stack.text.webSocket(secret);
  for (let turn = 0; turn < 5; turn += 1) {
    socket.send({ type: 'response.create', model: 'translated', input: 'hi' });
    expect((await socket.answer()).at(-1)?.type).toBe('response.completed');
  }
  await expectFree(record.id);
});
