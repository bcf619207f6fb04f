import { expect, test } from 'vitest';
import { StreamCollector } from '../conversion/collect-stream.ts';
import { translateReply } from '../conversion/translate-reply.ts';
import { translateRequest } from '../conversion/translate-request.ts';
import { testReplyContext, testTarget, testTokens } from '../testing/test-context.ts';
import { planFor } from '../testing/test-streams.ts';
import { TEXT_PROTOCOLS, type TextProtocolName as TextProtocol } from '../testing/text-pairs.ts';
import { objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { createCompletionCollector } from './chat/stream/collect-events.ts';

/** Calls as servers that are only nearly right write them. */

const collected = (caller: TextProtocol, upstream: TextProtocol, events: readonly string[]): string => {
  const collector = new StreamCollector(planFor(caller, upstream), testReplyContext());
  for (const event of events) collector.push(Buffer.from(`data: ${event}\n\n`));
  return JSON.stringify(collector.end().body);
};

const FINISH: Readonly<Record<TextProtocol, string>> = {
  chat: '"finish_reason":"tool_calls"',
  messages: '"stop_reason":"tool_use"',
  responses: '"status":"completed"',
};
const USE = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { a: 1 } };
const messageEvents = (reason: string | null, block: object): string[] =>
  [
    { type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: reason } },
    { type: 'message_stop' },
  ].map((event) => JSON.stringify(event));

/** Numbers that JavaScript would write in another way. */
const NUMBERS = '{"id":2512292042121000001,"x":1e400,"y":1.0,"z":-0,"of":[1E3,{"input":{"w":2.50}}]}';
const unescaped = (text: string): string => text.replaceAll('\\', '');

for (const caller of TEXT_PROTOCOLS) {
  test.for(['end_turn', 'stop_sequence', null, 'brand_new'])(
    `${caller}: an answer with calls ends with calls although its server says %s`,
    (reason) => {
      const plan = planFor(caller, 'messages');
      const reply = { content: [USE], stop_reason: reason, usage: {} };
      const whole = JSON.stringify(translateReply(plan, reply, testReplyContext()).body);
      for (const body of [whole, collected(caller, 'messages', messageEvents(reason, USE))]) {
        expect(body).toContain(FINISH[caller]);
        expect(body).toContain('look');
      }
    },
  );

  test(`${caller}: an answer without calls does not end with calls; one that was cut stays one`, () => {
    const text = { type: 'text', text: 'Hello.' };
    expect(collected(caller, 'messages', messageEvents('tool_use', text))).toMatch(
      /"(finish_reason":"stop|stop_reason":"end_turn|status":"completed)"/,
    );
    expect(collected(caller, 'messages', messageEvents('max_tokens', USE))).toMatch(
      /"(finish_reason":"length|stop_reason":"max_tokens|status":"incomplete)"/,
    );
    const completion = { choices: [{ message: { content: 'Hello.' }, finish_reason: 'tool_calls' }] };
    const { body } = translateReply(planFor(caller, 'chat'), completion, testReplyContext());
    expect(JSON.stringify(body)).toMatch(
      /"(finish_reason":"stop|stop_reason":"end_turn|status":"completed)"/,
    );
  });

  test.for([
    [
      'messages',
      `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look","input":${NUMBERS}}}`,
    ],
    [
      'chat',
      `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"look","arguments":${NUMBERS}}}]}}]}`,
    ],
    [
      'responses',
      `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"t","name":"look","arguments":${NUMBERS}}}`,
    ],
    [
      'messages',
      `{"type":"message_start","message":{"content":[{"type":"tool_use","id":"t","name":"look","input":${NUMBERS}}]}}`,
    ],
  ] as const)(`${caller}: numbers stay as written in a streamed object of %s`, ([upstream, event]) => {
    const end = {
      messages: ['{"type":"message_stop"}'],
      chat: ['{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}', '[DONE]'],
      responses: ['{"type":"response.completed","response":{"status":"completed"}}'],
    }[upstream];
    expect(unescaped(collected(caller, upstream, [event, ...end]))).toContain(NUMBERS);
  });

  test.for([
    [
      'messages',
      `{"content":[{"type":"tool_use","id":"t","name":"look","input":${NUMBERS}}],"stop_reason":"tool_use","usage":{"input_tokens":1.0}}`,
    ],
    [
      'chat',
      `{"choices":[{"message":{"tool_calls":[{"id":"t","type":"function","function":{"name":"look","arguments":${NUMBERS}}}]},"finish_reason":"tool_calls"}]}`,
    ],
    [
      'chat',
      `{"choices":[{"message":{"tool_calls":[{"id":"t","type":"function","function":{"name":"look","arguments":${JSON.stringify(NUMBERS)}}}]},"finish_reason":"tool_calls"}]}`,
    ],
    [
      'responses',
      `{"status":"completed","output":[{"type":"function_call","call_id":"t","name":"look","arguments":${NUMBERS}}]}`,
    ],
  ] as const)(`${caller}: numbers stay as written in a whole reply of %s`, ([upstream, reply]) => {
    const { body } = translateReply(planFor(caller, upstream), parseBody(reply), testReplyContext());
    expect(unescaped(JSON.stringify(body))).toContain(NUMBERS);
  });

  test(`${caller}: numbers stay as written in the history of a request, whatever takes it`, () => {
    const call = { name: 'look', arguments: NUMBERS };
    const history = {
      responses: `{"model":"m","temperature":1.0,"input":[{"role":"user","content":"Go"},${JSON.stringify({ type: 'function_call', call_id: 't', ...call })},{"type":"function_call_output","call_id":"t","output":"ok"}]}`,
      messages: `{"model":"m","max_tokens":9,"temperature":1.0,"messages":[{"role":"user","content":"Go"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"look","input":${NUMBERS}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}]}`,
      chat: `{"model":"m","temperature":1.0,"messages":[{"role":"user","content":"Go"},{"role":"assistant","tool_calls":[${JSON.stringify({ id: 't', type: 'function', function: call })}]},{"role":"tool","tool_call_id":"t","content":"ok"}]}`,
    }[caller];
    for (const protocol of TEXT_PROTOCOLS) {
      const { body } = translateRequest({
        caller,
        body: parseBody(history),
        target: testTarget(protocol),
        tokens: testTokens,
      });
      expect(unescaped(JSON.stringify(body))).toContain(NUMBERS);
      expect(body).toMatchObject({ temperature: 1 });
    }
  });

  test.for(['call_0', '', 'with space', 'x'.repeat(80)])(
    `${caller}: the id %j is given once in a conversation`,
    (id) => {
      const history = {
        responses: {
          input: [
            { role: 'user', content: 'Go' },
            { type: 'function_call', call_id: id, name: 'look', arguments: '{}' },
            { type: 'function_call_output', call_id: id, output: 'ok' },
          ],
        },
        messages: {
          messages: [
            { role: 'user', content: 'Go' },
            { role: 'assistant', content: [{ ...USE, id }] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
          ],
        },
        chat: {
          messages: [
            { role: 'user', content: 'Go' },
            {
              role: 'assistant',
              tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }],
            },
            { role: 'tool', tool_call_id: id, content: 'ok' },
          ],
        },
      }[caller];
      const plan = planFor(caller, 'chat', { request: history });
      const made = { id, type: 'function', function: { name: 'look', arguments: '{}' } };
      const reply = { choices: [{ message: { tool_calls: [made] }, finish_reason: 'tool_calls' }] };
      const body = JSON.stringify(translateReply(plan, reply, testReplyContext()).body);
      expect(body).toMatch(/"(id|call_id)":"(call_|toolu_)\d{4}"/);
      expect(body).not.toContain(`"${id}"`.length > 2 ? `"${id}"` : '"id":""');
    },
  );
}

test.for(TEXT_PROTOCOLS)(
  'a history that has an id twice reaches %s with pairs of their own, always the same',
  (target) => {
    const turn = (text: string) => [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_0', content: text },
    ];
    const body = {
      model: 'm',
      messages: [{ role: 'user', content: 'Go' }, ...turn('first'), ...turn('second'), ...turn('third')],
    };
    const written = () =>
      JSON.stringify(
        translateRequest({ caller: 'chat', body, target: testTarget(target), tokens: testTokens }).body,
      );
    const results =
      written().match(/"(?:tool_call_id|tool_use_id|call_id)":"[^"]*"[^}]*?(first|second|third)/g) ?? [];
    const ids = results.map((result) => /call_0\w*/.exec(result)?.[0]);
    expect(ids).toEqual(['call_0', 'call_0_2', 'call_0_3']);
    for (const id of ids) expect(written().split(`"${id}"`)).toHaveLength(3);
    expect(written()).toBe(written());
  },
);

const chunk = (choice: object, more: object = {}) =>
  JSON.stringify({ choices: [{ index: 0, ...choice }], ...more });
const fragment = (members: object) => chunk({ delta: { tool_calls: [members] } });
const END = [chunk({ delta: {}, finish_reason: 'stop' }), '[DONE]'];

test.for([
  ['a message instead of deltas', [chunk({ message: { content: 'Hello.', reasoning_content: 'Hm.' } })]],
  [
    'a message beside its deltas',
    [
      chunk({ delta: { reasoning_content: 'Hm.' } }),
      chunk({ delta: { content: 'Hello.' } }),
      chunk({ delta: {}, message: { content: 'Hello.', reasoning_content: 'Hm.' } }),
    ],
  ],
  [
    'a list of parts',
    [
      chunk({ delta: { reasoning: 'Hm.' } }),
      chunk({ delta: { content: [{ type: 'text', text: 'Hello.' }] } }),
    ],
  ],
] as const)('a chat stream with %s is one answer', ([, chunks]) => {
  const body = collected('chat', 'chat', [...chunks, ...END]);
  expect(objectOf(JSON.parse(body)).choices).toMatchObject([
    { message: { content: 'Hello.', reasoning_content: 'Hm.' } },
  ]);
});

test.for([
  [
    'the older form',
    [
      chunk({ delta: { function_call: { name: 'look', arguments: '{"a":' } } }),
      chunk({ delta: { function_call: { arguments: '1}' } } }),
    ],
  ],
  [
    'its name in every piece',
    [
      fragment({ function: { name: 'look', arguments: '{"a":' } }),
      fragment({ function: { name: 'look', arguments: '1}' } }),
    ],
  ],
  [
    'its id only later',
    [
      fragment({ index: 0, function: { name: 'look', arguments: '{"a":' } }),
      fragment({ index: 0, id: 'c', function: { arguments: '1}' } }),
    ],
  ],
  [
    'a whole message',
    [chunk({ message: { tool_calls: [{ function: { name: 'look', arguments: '{"a":1}' } }] } })],
  ],
  ['an object', [fragment({ index: 0, function: { name: 'look', arguments: { a: 1 } } })]],
] as const)('a chat stream whose call has %s is one call', ([, chunks]) => {
  const body = collected('chat', 'chat', [...chunks, ...END]);
  expect(body.match(/"name":"look"/g)).toHaveLength(1);
  expect(objectOf(JSON.parse(body)).choices).toMatchObject([
    {
      message: { tool_calls: [{ function: { name: 'look', arguments: '{"a":1}' } }] },
      finish_reason: 'tool_calls',
    },
  ]);
});

const CALL = { index: 0, id: 'c', function: { name: 'look', arguments: '{"a":1}' } };
const OTHER = { index: 0, id: 'c', function: { name: 'look', arguments: '{"b":2}' } };
const unnumbered = ({ index: _, ...call }: typeof CALL) => call;

test.for<readonly [string, readonly string[], readonly string[]]>([
  ['two calls of one index', [fragment(CALL), fragment({ ...OTHER, id: 'd' })], ['{"a":1}', '{"b":2}']],
  ['two calls of one index and one id', [fragment(CALL), fragment(OTHER)], ['{"a":1}', '{"b":2}']],
  [
    'two calls of one id without an index',
    [fragment(unnumbered(CALL)), fragment(unnumbered(OTHER))],
    ['{"a":1}', '{"b":2}'],
  ],
  [
    'pieces of a call without an index',
    [
      fragment({ id: 'c', function: { name: 'look', arguments: '{"a"' } }),
      fragment({ function: { arguments: ':1}' } }),
    ],
    ['{"a":1}'],
  ],
  ['a call that is said twice', [fragment(CALL), fragment(CALL)], ['{"a":1}']],
])(
  '%s are as many calls, translated and put together for a caller of the same protocol',
  ([, chunks, given]) => {
    const collector = createCompletionCollector();
    for (const event of [...chunks, ...END.slice(0, 1)]) collector.take(objectOf(parseBody(event)), event);
    for (const body of [collector.body(), JSON.parse(collected('chat', 'chat', [...chunks, ...END]))]) {
      const calls = given.map((text) => ({ function: { name: 'look', arguments: text } }));
      expect(objectOf(body).choices).toMatchObject([{ message: { tool_calls: calls } }]);
    }
  },
);

test('a call of the older form in a whole completion is a call', () => {
  const message = { content: null, function_call: { name: 'look', arguments: '{"a":1}' } };
  const reply = parseBody(JSON.stringify({ choices: [{ message, finish_reason: 'function_call' }] }));
  const { body } = translateReply(planFor('responses', 'chat'), reply, testReplyContext());
  expect(objectOf(body).output).toMatchObject([
    { type: 'function_call', name: 'look', arguments: '{"a":1}' },
  ]);
});
