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

test.for(
  protocols.flatMap((protocol) =>
    [12.5, -1, '12', 2 ** 53, true, {}].map((count) => [protocol, count] as const),
  ),
)('%s: %j is no count, and a report with it is ignored', ([protocol, count]) => {
  expect(readEverywhere(protocol, count, 34)).toEqual(Array(4).fill(null));
  expect(readEverywhere(protocol, 12, count)).toEqual(Array(4).fill(null));
});

test.for(protocols)('%s: a reply without any count reports nothing', (protocol) => {
  expect(PROTOCOLS[protocol].readUsage({ ...REPLIES[protocol](1, 1), usage: {} })).toBe(null);
  expect(PROTOCOLS[protocol].readUsage({ ...REPLIES[protocol](1, 1), usage: null })).toBe(null);
});
