import { expect, test } from 'vitest';
import { translateReply } from '../conversion/translate-reply.ts';
import { StreamTranslator, streamReply } from '../conversion/translate-stream.ts';
import { testReplyContext } from '../testing/test-context.ts';
import { planFor } from '../testing/test-streams.ts';
import { continueTurn, pausedContent } from './messages/reply/paused-turn.ts';

const plan = planFor('responses', 'messages', { request: { tools: [{ type: 'web_search' }] } });

const SEARCH = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'whales' } };
const FOUND = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
const reply = (content: object[], stop_reason: string) => ({
  content,
  stop_reason,
  usage: { input_tokens: 10, output_tokens: 5 },
});

const frames = (...events: { type: string; [member: string]: unknown }[]) =>
  Buffer.from(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
const START = { type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } };
const ending = (stop_reason: string) => [
  { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
];
const PAUSED = frames(
  START,
  { type: 'content_block_start', index: 0, content_block: { ...SEARCH, input: {} } },
  {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: '{"query":"whales"}' },
  },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: FOUND },
  { type: 'content_block_stop', index: 1 },
  ...ending('pause_turn'),
);
const REST = frames(
  START,
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'A whale.' } },
  { type: 'content_block_stop', index: 0 },
  ...ending('end_turn'),
);

test('a paused stream is continued as one answer, with one end and the cost of both', () => {
  const translator = new StreamTranslator(plan, testReplyContext());
  const first = translator.push(PAUSED);
  expect(translator.ended).toBe(false);
  expect(translator.pausedContent).toEqual([SEARCH, FOUND]);
  translator.resume();
  const all = [...first, ...translator.push(REST), ...translator.end()].join('');
  expect(translator.pausedContent).toBeNull();
  expect(all.match(/response\.created/g)).toHaveLength(2);
  expect(all.match(/"type":"response\.completed"/g)).toHaveLength(1);
  expect(all).toContain('"output_text","text":"A whale."');
  expect(translator.usage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
});

test('a paused stream that nobody continues ends as cut', () => {
  const translator = new StreamTranslator(plan, testReplyContext());
  translator.push(PAUSED);
  expect(translator.end().join('')).toContain('"type":"response.incomplete"');
});

test('replies around a pause become one answer', () => {
  const paused = reply([SEARCH, FOUND], 'pause_turn');
  const last = reply([{ type: 'text', text: 'A whale.' }], 'end_turn');
  expect(pausedContent(last)).toBeNull();
  const content = pausedContent(paused) ?? [];
  expect(continueTurn({ model: 'm', messages: [{ role: 'user', content: 'Search' }] }, content)).toEqual({
    model: 'm',
    messages: [
      { role: 'user', content: 'Search' },
      { role: 'assistant', content: [SEARCH, FOUND] },
    ],
  });
  const { body, usage } = translateReply(plan, last, testReplyContext(), [paused]);
  expect(body).toMatchObject({
    status: 'completed',
    output: [{ type: 'web_search_call' }, { type: 'message' }],
  });
  expect(usage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
});

test('a caller who streams gets a whole stream of an upstream that does not', () => {
  const whole = streamReply(
    plan,
    reply([{ type: 'text', text: 'A whale.' }], 'end_turn'),
    testReplyContext(),
  );
  expect(whole[0]).toContain('response.created');
  expect(whole.join('')).toContain('"delta":"A whale."');
  expect(whole.slice(-2).join('')).toMatch(/response\.completed.*\[DONE\]\n\n$/s);
});
