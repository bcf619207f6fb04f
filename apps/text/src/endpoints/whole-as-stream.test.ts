import Anthropic from '@anthropic-ai/sdk';
import { collectSse } from '@gateway/testkit/collect-sse';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Stack } from '../testing/start-stack.ts';
import { PAIRS, PATHS, requestOf, startPairs } from '../testing/text-pairs.ts';

let stack: Stack;
let openai: OpenAI;
let anthropic: Anthropic;
beforeAll(async () => {
  stack = await startPairs();
  const { url } = stack.text;
  const options = { apiKey: 'key', maxRetries: 0, defaultHeaders: stack.text.identityHeaders() };
  openai = new OpenAI({ ...options, baseURL: `${url}/v1` });
  anthropic = new Anthropic({ ...options, baseURL: url });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => stack.first.reset());

const WHOLE = {
  responses: {
    id: 'resp_1',
    object: 'response',
    created_at: 1_795_000_000,
    status: 'completed',
    model: 'gpt-5.2',
    brand_new: { a: 1 },
    output: [
      { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Think.' }] },
      { id: 'new_1', type: 'brand_new_call', status: 'completed', result: [1, 2] },
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'A whale. 🐳', annotations: [], logprobs: [] }],
      },
      {
        id: 'fc_1',
        type: 'function_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'look',
        arguments: '{"a":1}',
      },
    ],
    usage: { input_tokens: 5, output_tokens: 9, total_tokens: 14 },
  },
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-5',
    brand_new: { a: 1 },
    content: [
      { type: 'thinking', thinking: 'Think.', signature: 'seal' },
      { type: 'brand_new_block', result: [1, 2] },
      { type: 'text', text: 'A whale. 🐳', citations: null },
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: { a: 1 } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 9 },
  },
  chat: {
    id: 'chatcmpl_1',
    object: 'chat.completion',
    created: 1_795_000_000,
    model: 'open-model',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'A whale. 🐳',
          refusal: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }],
        },
        logprobs: null,
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 },
  },
};

test.for(PAIRS)(
  '$caller over $target: JSON from an upstream becomes a stream where a stream was requested',
  async ({ caller, target, model }) => {
    stack.first.script({ json: WHOLE[target] });
    const body = requestOf(caller, model, 'Hi', { stream: true });
    const requestId = `req_whole_${caller}_${target}`;
    const reply = await stack.text.fetch(PATHS[caller], { body, headers: { 'x-request-id': requestId } });
    expect(reply.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const events = await collectSse(reply);
    expect(JSON.stringify(events)).toContain('A whale. 🐳');
    const last = events.at(-1);
    expect(caller === 'messages' ? last?.event : last?.data).toBe(
      caller === 'messages' ? 'message_stop' : '[DONE]',
    );
    const line = stack.text.lines.find((one) => one.requestId === requestId);
    expect(line).toMatchObject({ outcome: 'ok', inputTokens: 5, outputTokens: 9 });
  },
);

test("OpenAI's client puts the response together that the upstream sent, unknown parts included", async () => {
  stack.first.script({ json: WHOLE.responses });
  const made = await openai.responses.stream({ model: 'to-responses', input: 'Hi' }).finalResponse();
  expect(made).toMatchObject(WHOLE.responses);
  expect(made.output_text).toBe('A whale. 🐳');
});

test("Anthropic's client puts the message together that the upstream sent, unknown blocks included", async () => {
  stack.first.script({ json: WHOLE.messages });
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const stream = anthropic.messages.stream({ model: 'to-messages', max_tokens: 50, messages });
  expect(await stream.finalMessage()).toMatchObject(WHOLE.messages);
});

test("OpenAI's client puts the completion together that the upstream sent", async () => {
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  stack.first.script({ json: WHOLE.chat });
  const stream_options = { include_usage: true };
  const requested = await openai.chat.completions
    .stream({ model: 'to-chat', messages, stream_options })
    .finalChatCompletion();
  expect(requested).toMatchObject({ ...WHOLE.chat, choices: [{ message: { content: 'A whale. 🐳' } }] });
  expect(requested.choices[0]?.message.tool_calls).toMatchObject(
    WHOLE.chat.choices[0]?.message.tool_calls ?? [],
  );
  stack.first.script({ json: WHOLE.chat });
  const silent = await openai.chat.completions.stream({ model: 'to-chat', messages }).finalChatCompletion();
  expect(silent.usage ?? null).toBe(null);
});
