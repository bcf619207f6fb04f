import { GatewayError } from '@gateway/contracts/gateway-error';
import { recordedStream, recordedStreamNames } from '@gateway/simulator/recorded-stream';
import { expect, test } from 'vitest';
import { dataOf, framesOf } from '../testing/test-streams.ts';
import { type StreamReader, UnreadableEvent } from '../wire/stream/stream-reader.ts';
import { createMessagesStreamReader } from './messages/stream/stream-reader.ts';
import { createResponsesStreamReader } from './responses/stream/stream-reader.ts';

const take = (reader: StreamReader, data: string): void => {
  for (const frame of framesOf(`data: ${data}\n\n`)) reader.frame(frame);
};
const readerFor = (name: string): StreamReader =>
  name.startsWith('responses') ? createResponsesStreamReader() : createMessagesStreamReader();

const events = (frames: string): Record<string, unknown>[] =>
  dataOf(frames).flatMap((data) => (data === '[DONE]' ? [] : [JSON.parse(data)]));

const lost = new GatewayError('upstream_failed', 'The upstream connection was lost.');

test.for(recordedStreamNames())('%s is known to have ended at its end and not before', (name) => {
  const reader = readerFor(name);
  const data = dataOf(recordedStream(name));
  const last = data.findLastIndex((one) => one !== '[DONE]');
  for (const one of data.slice(0, last)) {
    expect(reader.ended).toBe(false);
    take(reader, one);
  }
  take(reader, data[last] ?? '');
  expect(reader.ended).toBe(true);
  expect(reader.id).toMatch(/^(resp|msg)_01$/);
});

test('usage is read from where each protocol has it', () => {
  const response = createResponsesStreamReader();
  for (const one of dataOf(recordedStream('responses-reasoning-summary-and-text'))) take(response, one);
  expect(response.usage).toEqual({
    inputTokens: 20,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 80,
    reasoningTokens: 64,
    serviceTier: 'default',
    webSearches: 0,
    reported: true,
  });
  const message = createMessagesStreamReader();
  take(
    message,
    '{"type":"message_start","message":{"id":"m","usage":{"input_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":11,"output_tokens":1}}}',
  );
  take(
    message,
    '{"type":"message_delta","delta":{},"usage":{"output_tokens":30,"cache_read_input_tokens":null,"output_tokens_details":{"thinking_tokens":9},"service_tier":"standard"}}',
  );
  expect(message.usage).toEqual({
    inputTokens: 23,
    cachedInputTokens: 7,
    cacheWriteTokens: 11,
    outputTokens: 30,
    reasoningTokens: 9,
    serviceTier: 'standard',
    webSearches: 0,
    reported: true,
  });
});

test('a part with a number that no answer reaches is read at once', () => {
  const reader = createResponsesStreamReader();
  const index = 2 ** 32 - 2;
  take(
    reader,
    `{"type":"response.output_text.delta","output_index":0,"content_index":${index},"delta":"Hi"}`,
  );
  const [, failed] = events(reader.breakOff(lost, 'req_1').join(''));
  expect(failed).toMatchObject({
    response: { output: [{ content: [{ type: 'output_text', text: 'Hi' }] }] },
  });
});

test('a response broken off ends as the protocol shows it', () => {
  const recorded = dataOf(recordedStream('responses-error-mid-stream'));
  const broken = recorded.findIndex((data) => data.startsWith('{"type":"error"'));
  const reader = createResponsesStreamReader();
  for (const one of recorded.slice(0, broken)) take(reader, one);
  const frames = reader.breakOff(lost, 'req_1').join('');
  expect(events(frames)).toEqual(recorded.slice(broken, -1).map((data) => JSON.parse(data)));
  expect(frames).toMatch(
    /^event: error\ndata: .*\n\nevent: response\.failed\ndata: .*\n\ndata: \[DONE\]\n\n$/,
  );
});

test.for(recordedStreamNames().filter((name) => name.startsWith('responses')))(
  'broken off after any event, the reader of %s still has the output so far',
  (name) => {
    const recorded = dataOf(recordedStream(name)).filter((one) => one !== '[DONE]');
    for (let count = 1; count < recorded.length; count += 1) {
      const reader = createResponsesStreamReader();
      for (const one of recorded.slice(0, count)) take(reader, one);
      if (reader.ended || reader.reportedFailure !== null) continue;
      const [error, failed] = events(reader.breakOff(lost, 'req_1').join(''));
      expect(error).toMatchObject({ type: 'error', sequence_number: count, code: 'server_error' });
      const seen = recorded.slice(0, count).map((one) => JSON.parse(one));
      const added = seen.filter(({ type }) => type === 'response.output_item.added').length;
      const done = seen.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
      expect(failed).toMatchObject({
        type: 'response.failed',
        sequence_number: count + 1,
        response: { id: 'resp_01', status: 'failed', error: { code: 'server_error' }, model: 'gpt-5.6-sol' },
      });
      const { output } = Object(failed?.response);
      expect(output).toHaveLength(added);
      expect(output.slice(0, done.length)).toEqual(done);
    }
  },
);

test('text, refusals, arguments and reasoning that came in part are in the broken response', () => {
  const reader = createResponsesStreamReader();
  const push = (event: object) => take(reader, JSON.stringify(event));
  push({ type: 'response.created', sequence_number: 0, response: { id: 'resp_1' } });
  push({
    type: 'response.output_item.added',
    output_index: 0,
    item: { id: 'rs_1', type: 'reasoning', summary: [] },
  });
  push({
    type: 'response.reasoning_summary_part.added',
    output_index: 0,
    summary_index: 0,
    part: { type: 'summary_text', text: '' },
  });
  push({ type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'Th' });
  push({ type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'ink' });
  push({
    type: 'response.output_item.added',
    output_index: 1,
    item: { id: 'fc_1', type: 'function_call', status: 'in_progress', arguments: '' },
  });
  push({ type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"a"' });
  const [, failed] = events(reader.breakOff(lost, 'req_1').join(''));
  expect(Object(failed?.response).output).toEqual([
    { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Think' }] },
    { id: 'fc_1', type: 'function_call', status: 'incomplete', arguments: '{"a"' },
  ]);
});

test('the text of thousands of deltas in any script is in the broken response, in its order', () => {
  const reader = createResponsesStreamReader();
  const position = { output_index: 0, content_index: 0 };
  const item = { id: 'msg_1', type: 'message', status: 'in_progress', content: [] };
  take(reader, JSON.stringify({ type: 'response.output_item.added', sequence_number: 0, ...position, item }));
  const part = { type: 'output_text', text: '' };
  take(
    reader,
    JSON.stringify({ type: 'response.content_part.added', sequence_number: 1, ...position, part }),
  );
  const words = Array.from(
    { length: 3000 },
    (_, index) => ['naïve ', '日本', '😀"\\\n', `${index} `][index % 4],
  );
  words.forEach((delta, index) => {
    const type = 'response.output_text.delta';
    const event = JSON.stringify({ type, sequence_number: index + 2, ...position, delta });
    // Now and then an event is written otherwise, and has to be parsed.
    take(reader, index % 1000 === 999 ? event.replace(':', ': ') : event);
  });
  const [error, failed] = events(reader.breakOff(lost, 'req_1').join(''));
  expect(error?.sequence_number).toBe(words.length + 2);
  expect(Object(failed?.response).output).toEqual([
    { ...item, status: 'incomplete', content: [{ type: 'output_text', text: words.join('') }] },
  ]);
});

test("an upstream's own error event without its last event is completed and not repeated", () => {
  const reader = createResponsesStreamReader();
  take(reader, '{"type":"response.created","sequence_number":0,"response":{"id":"resp_1"}}');
  take(
    reader,
    '{"type":"error","sequence_number":1,"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Slow.","param":null}}',
  );
  expect(reader.mayEnd).toBe(false);
  const ending = events(reader.breakOff(lost, 'req_1').join(''));
  expect(ending).toEqual([
    {
      type: 'response.failed',
      sequence_number: 2,
      response: {
        id: 'resp_1',
        status: 'failed',
        output: [],
        error: { type: 'tokens', code: 'rate_limit_exceeded', message: 'Slow.', param: null },
      },
    },
  ]);
});

test('the stream of a background response may end without a last event, since cancelling it has none', () => {
  const reader = createResponsesStreamReader();
  take(
    reader,
    '{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","background":true}}',
  );
  expect(reader.mayEnd).toBe(true);
  expect(reader.ended).toBe(false);
});

test('a message broken off ends with an error event in the words of its protocol', () => {
  const reader = createMessagesStreamReader();
  const timeout = new GatewayError('upstream_timeout', 'Too slow.');
  expect(reader.breakOff(timeout, 'req_1').join('')).toBe(
    'event: error\ndata: {"type":"error","error":{"type":"timeout_error","message":"Too slow."},"request_id":"req_1"}\n\n',
  );
});

test.for(['{"broken": ', 'text', '"text"', '[]'])('%s is no event of either protocol', (data) => {
  expect(() => take(createResponsesStreamReader(), data)).toThrow(UnreadableEvent);
  expect(() => take(createMessagesStreamReader(), data)).toThrow(UnreadableEvent);
});
