import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Stack } from '../testing/start-stack.ts';
import { dataOf } from '../testing/test-streams.ts';
import { PATHS, startPairs } from '../testing/text-pairs.ts';

/** Servers that count the calls of each answer from 0: agents pair calls and results of a conversation by ids alone. */

let stack: Stack;
beforeAll(async () => {
  stack = await startPairs();
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => stack.first.reset());

const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{"n":1.0}' } });
const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: { n: 1 } });
const choiceOf = (tool_calls: readonly object[]) => ({
  index: 0,
  message: { role: 'assistant', content: null, tool_calls },
  finish_reason: 'tool_calls',
});
const completion = (id: string) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [choiceOf([call(id)])],
});
const message = (id: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [use(id)],
  stop_reason: 'tool_use',
  usage: { input_tokens: 1, output_tokens: 1 },
});
const sse = (...events: { readonly type?: string; readonly [member: string]: unknown }[]) =>
  events
    .map((event) => `${event.type ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
    .join('');
const chunk = (choice: object) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, finish_reason: null, ...choice }],
});

const UPSTREAM = {
  chat: {
    whole: completion,
    stream: (id: string) =>
      `${sse(
        chunk({ delta: { tool_calls: [{ index: 0, ...call(id) }] } }),
        chunk({ delta: { tool_calls: [{ index: 0, id, function: { arguments: '' } }] } }),
        chunk({ delta: {}, finish_reason: 'tool_calls' }),
      )}data: [DONE]\n\n`,
    history: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: null, tool_calls: [call('call_0')] },
      { role: 'tool', tool_call_id: 'call_0', content: 'ok' },
    ],
  },
  messages: {
    whole: message,
    stream: (id: string) =>
      sse(
        { type: 'message_start', message: { ...message(id), content: [] } },
        { type: 'content_block_start', index: 0, content_block: use(id) },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
      ),
    history: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: [use('call_0')] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'ok' }] },
    ],
  },
} as const;

const CASES = (['chat', 'messages'] as const).flatMap((protocol) =>
  [true, false].map((stream) => ({ protocol, stream })),
);

const answer = async (protocol: 'chat' | 'messages', stream: boolean, id: string): Promise<string> => {
  const { history, ...upstream } = UPSTREAM[protocol];
  stack.first.script(stream ? { sse: upstream.stream(id) } : { json: upstream.whole(id) });
  const body = { model: `to-${protocol}`, max_tokens: 100, messages: history, stream };
  return (await stack.text.fetch(PATHS[protocol], { body })).text();
};

const idsIn = (text: string, stream: boolean): Set<string> =>
  new Set(
    (stream ? dataOf(text).join('\n') : text)
      .match(/(?<="id":")[^"]*(?=")/g)
      ?.filter((id) => !/^(chatcmpl|msg)/.test(id)),
  );

test.for(CASES)(
  '$protocol, stream $stream: an id that the conversation has already becomes another one',
  async ({ protocol, stream }) => {
    const ids = idsIn(await answer(protocol, stream, 'call_0'), stream);
    expect([...ids]).toEqual([expect.stringMatching(/^(call|toolu)_[0-9a-f]{32}$/)]);
  },
);

test.for(CASES)(
  '$protocol, stream $stream: an answer with a new id passes as it came',
  async ({ protocol, stream }) => {
    const { whole, stream: streamed } = UPSTREAM[protocol];
    const text = await answer(protocol, stream, 'call_1');
    expect(text).toBe(stream ? streamed('call_1') : JSON.stringify(whole('call_1')));
  },
);

test.for(CASES)(
  '$protocol, stream $stream: calls of one answer get ids of their own',
  async ({ protocol, stream }) => {
    const { history } = UPSTREAM[protocol];
    const whole = {
      chat: { ...completion('call_7'), choices: [choiceOf([call('call_7'), call('call_7')])] },
      messages: { ...message('call_7'), content: [use('call_7'), use('call_7')] },
    }[protocol];
    const streamed = {
      chat: `${sse(
        ...[0, 1].map((index) => chunk({ delta: { tool_calls: [{ index, ...call('call_7') }] } })),
        chunk({ delta: { tool_calls: [{ index: 1, id: 'call_7', function: { arguments: '' } }] } }),
        chunk({ delta: {}, finish_reason: 'tool_calls' }),
      )}data: [DONE]\n\n`,
      messages: sse(
        { type: 'message_start', message: { ...message('call_7'), content: [] } },
        ...[0, 1].flatMap((index) => [
          { type: 'content_block_start', index, content_block: use('call_7') },
          { type: 'content_block_stop', index },
        ]),
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
      ),
    }[protocol];
    stack.first.script(stream ? { sse: streamed } : { json: whole });
    const body = { model: `to-${protocol}`, max_tokens: 100, messages: history, stream };
    const text = await (await stack.text.fetch(PATHS[protocol], { body })).text();
    expect([...idsIn(text, stream)]).toEqual([
      'call_7',
      expect.stringMatching(/^(call|toolu)_[0-9a-f]{32}$/),
    ]);
  },
);

test.for(CASES)(
  '$protocol, stream $stream: of many calls to a large request, those that it has already get other ids',
  async ({ protocol, stream }) => {
    const { history } = UPSTREAM[protocol];
    const ids = [0, 1, 2, 3, 4, 5, 6, 7].map((at) => `call_${at}`);
    const calls = ids.map((id, index) => ({ index, ...call(id) }));
    const whole = {
      chat: { ...completion('call_0'), choices: [choiceOf(ids.map(call))] },
      messages: { ...message('call_0'), content: ids.map(use) },
    }[protocol];
    const streamed = {
      chat: `${sse(
        chunk({ delta: { tool_calls: calls.slice(1) } }),
        chunk({ delta: { tool_calls: calls.slice(0, 1) } }),
        chunk({ delta: {}, finish_reason: 'tool_calls' }),
      )}data: [DONE]\n\n`,
      messages: sse(
        { type: 'message_start', message: { ...message('call_0'), content: [] } },
        ...ids.toReversed().flatMap((id, index) => [
          { type: 'content_block_start', index, content_block: use(id) },
          { type: 'content_block_stop', index },
        ]),
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
      ),
    }[protocol];
    stack.first.script(stream ? { sse: streamed } : { json: whole });
    const messages = [{ role: 'user', content: 'a'.repeat(600_000) }, ...history];
    const body = { model: `to-${protocol}`, max_tokens: 100, messages, stream };
    const text = await (await stack.text.fetch(PATHS[protocol], { body })).text();
    const shown = idsIn(text, stream);
    expect(ids.slice(1).every((id) => shown.delete(id))).toBe(true);
    expect([...shown]).toEqual([expect.stringMatching(/^(call|toolu)_[0-9a-f]{32}$/)]);
  },
);
