import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import { CONVERSATION_PROTOCOLS, type ConversationProtocol } from '@gateway/upstream/protocol';
import { expect, test } from 'vitest';
import { CHAT, MESSAGES, RESPONSES } from '../call/request/text-endpoint.ts';
import { describeRequest } from '../call/request/text-request.ts';
import { keptItems, keptMessages } from '../compaction/kept-window.ts';
import { transcriptOf } from '../compaction/transcript.ts';
import { demandOneTool } from '../passthrough/demand-one-tool.ts';
import { GivenIds } from '../passthrough/given-ids.ts';
import { RepeatedCallIds } from '../passthrough/repeated-call-ids.ts';
import { mayHoldTokens, restoreTokens } from '../passthrough/restore-tokens.ts';
import { SentIds } from '../passthrough/sent-ids.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { testReplyContext, testTarget, testTokens } from '../testing/test-context.ts';
import { planFor } from '../testing/test-streams.ts';
import { TEXT_PROTOCOLS, type TextProtocolName as TextProtocol } from '../testing/text-pairs.ts';
import { effectiveBody } from '../translation/effective-body.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import { exchangeMembers, replaceModel, setMember } from '../wire/replace-member.ts';
import { StopSequenceStep } from './stop-sequences.ts';
import { translateRequest } from './translate-request.ts';
import { StreamTranslator } from './translate-stream.ts';

/**
 * The work for a request grows with its size, not with its square: everything that reads, writes or checks gets n
 * repetitions of a shape and four times as many, in one run. Fourfold work is fine, and up to eightfold for what else
 * the machine does; work that grows with the square would be sixteenfold.
 */
const MAX_RATIO = 8;
/** What is faster than this is not measured well. */
const MIN_MICROSECONDS = 20_000;

const times = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index));

function microseconds(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** The least of three: other work can only add to it. */
const leastOf = (work: () => unknown): number =>
  Math.min(microseconds(work), microseconds(work), microseconds(work));

function expectLinear(n: number, workFor: (count: number) => () => unknown): void {
  const [few, many] = [workFor(n), workFor(4 * n)];
  const whole = microseconds(many);
  // What is as fast as this needs no comparison.
  if (whole < MAX_RATIO * MIN_MICROSECONDS) return;
  const base = Math.max(leastOf(few), MIN_MICROSECONDS);
  // Garbage of earlier work may have been collected meanwhile.
  expect((whole / base < MAX_RATIO ? whole : leastOf(many)) / base).toBeLessThan(MAX_RATIO);
}

const text = (index: number) => `text ${index}`;
const schema = { type: 'object', properties: { a: { type: 'string' } } };

/** Repetitive bodies of each protocol, by what is repeated. */
const SHAPES: Readonly<Record<TextProtocol, Readonly<Record<string, (n: number) => object>>>> = {
  responses: {
    'calls, then their outputs': (n) => ({
      input: [
        ...times(n, (i) => ({ type: 'function_call', call_id: `c${i}`, name: 'f', arguments: '{}' })),
        ...times(n, (i) => ({ type: 'function_call_output', call_id: `c${i}`, output: 'x' })),
      ],
    }),
    'calls with one id': (n) => ({
      input: [
        ...times(n, () => ({ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' })),
        ...times(n, () => ({ type: 'function_call_output', call_id: 'c', output: 'x' })),
      ],
    }),
    'calls and outputs in turn': (n) => ({
      input: times(n, (i) => [
        { type: 'function_call', call_id: `c${i}`, name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: `c${i}`, output: 'x' },
      ]).flat(),
    }),
    'free-text calls': (n) => ({
      input: times(n, (i) => [
        { type: 'custom_tool_call', call_id: `c${i}`, name: 'f', input: 'x' },
        { type: 'custom_tool_call_output', call_id: `c${i}`, output: 'x' },
      ]).flat(),
    }),
    'messages of the user': (n) => ({ input: times(n, (i) => ({ role: 'user', content: text(i) })) }),
    'messages of the model': (n) => ({
      input: [
        ...times(n, (i) => ({ role: 'assistant', content: [{ type: 'output_text', text: text(i) }] })),
        { role: 'user', content: 'x' },
      ],
    }),
    instructions: (n) => ({
      input: [...times(n, (i) => ({ role: 'developer', content: text(i) })), { role: 'user', content: 'x' }],
    }),
    'parts of a message': (n) => ({
      input: [{ role: 'user', content: times(n, (i) => ({ type: 'input_text', text: text(i) })) }],
    }),
    reasoning: (n) => ({
      input: [
        ...times(n, (i) => ({
          type: 'reasoning',
          id: `rs_${i}`,
          summary: [{ type: 'summary_text', text: 'x' }],
        })),
        { role: 'user', content: 'x' },
      ],
    }),
    tools: (n) => ({
      input: 'x',
      tools: times(n, (i) => ({ type: 'function', name: `tool_${i}`, parameters: schema })),
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: times(n, (i) => ({ type: 'function', name: `tool_${i}` })),
      },
    }),
    'tools of one long name': (n) => ({
      input: 'x',
      tools: times(n, () => ({ type: 'function', name: 'ä'.repeat(60), parameters: schema })),
    }),
    'tools in namespaces': (n) => ({
      input: 'x',
      tools: times(n, (i) => ({
        type: 'namespace',
        name: `space_${i}`,
        description: 'x',
        tools: [{ type: 'function', name: 'f', parameters: schema }],
      })),
    }),
    'members of a schema': (n) => ({
      input: 'x',
      text: {
        format: {
          type: 'json_schema',
          name: 'x',
          schema: {
            type: 'object',
            properties: Object.fromEntries(times(n, (i) => [`p${i}`, { type: 'string' }])),
            required: times(n, (i) => `p${i}`),
          },
        },
      },
    }),
    'unknown members': (n) => ({ input: 'x', ...Object.fromEntries(times(n, (i) => [`member_${i}`, i])) }),
    'long numbers': (n) => ({ input: 'x', metadata: {}, tools: [], x: times(n, () => 1.25) }),
  },
  messages: {
    'blocks of text': (n) => ({
      messages: [{ role: 'user', content: times(n, (i) => ({ type: 'text', text: text(i) })) }],
    }),
    'blocks that are marked for the cache': (n) => ({
      messages: [
        {
          role: 'user',
          content: times(n, (i) => ({ type: 'text', text: text(i), cache_control: { type: 'ephemeral' } })),
        },
      ],
    }),
    'documents of one name': (n) => ({
      messages: [
        {
          role: 'user',
          content: times(n, () => ({
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: 'x' },
          })),
        },
      ],
    }),
    'calls, then their results': (n) => ({
      messages: [
        { role: 'user', content: 'x' },
        {
          role: 'assistant',
          content: times(n, (i) => ({ type: 'tool_use', id: `c${i}`, name: 'f', input: {} })),
        },
        {
          role: 'user',
          content: times(n, (i) => ({ type: 'tool_result', tool_use_id: `c${i}`, content: 'x' })),
        },
      ],
    }),
    'calls and results in turn': (n) => ({
      messages: [
        { role: 'user', content: 'x' },
        ...times(n, (i) => [
          { role: 'assistant', content: [{ type: 'tool_use', id: `c${i}`, name: 'f', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${i}`, content: 'x' }] },
        ]).flat(),
      ],
    }),
    'messages of the user': (n) => ({ messages: times(n, (i) => ({ role: 'user', content: text(i) })) }),
    'messages in turn': (n) => ({
      messages: [
        ...times(n, (i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: text(i) })),
        { role: 'user', content: 'x' },
      ],
    }),
    'instructions that end': (n) => ({
      messages: [
        { role: 'user', content: 'x' },
        ...times(n, (i) => ({ role: 'system', content: text(i), clear_at: 'next_user_message' })),
      ],
    }),
    instructions: (n) => ({
      system: times(n, (i) => ({ type: 'text', text: text(i) })),
      messages: [{ role: 'user', content: 'x' }],
    }),
    tools: (n) => ({
      messages: [{ role: 'user', content: 'x' }],
      tools: times(n, (i) => ({ name: `tool_${i}`, input_schema: schema })),
      tool_choice: { type: 'tool', name: `tool_${n - 1}` },
    }),
    'tools that are added': (n) => ({
      messages: [
        { role: 'user', content: 'x' },
        {
          role: 'system',
          content: times(n, (i) => ({
            type: 'tool_addition',
            tool: { type: 'tool_definition', definition: { name: `t${i}`, input_schema: schema } },
          })),
        },
        { role: 'user', content: 'x' },
      ],
    }),
    thinking: (n) => ({
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: times(n, () => ({ type: 'thinking', thinking: 'x', signature: 'y' })) },
        { role: 'user', content: 'x' },
      ],
    }),
    'parts of results': (n) => ({
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c',
              content: times(n, (i) => ({ type: 'text', text: text(i) })),
            },
          ],
        },
      ],
    }),
  },
  chat: {
    'messages of the user': (n) => ({ messages: times(n, (i) => ({ role: 'user', content: text(i) })) }),
    'messages of the user in parts': (n) => ({
      messages: times(n, (i) => ({ role: 'user', content: [{ type: 'text', text: text(i) }] })),
    }),
    'messages of the model': (n) => ({
      messages: [
        ...times(n, (i) => ({ role: 'assistant', content: text(i) })),
        { role: 'user', content: 'x' },
      ],
    }),
    instructions: (n) => ({
      messages: [...times(n, (i) => ({ role: 'system', content: text(i) })), { role: 'user', content: 'x' }],
    }),
    'calls of one message': (n) => ({
      messages: [
        { role: 'user', content: 'x' },
        {
          role: 'assistant',
          tool_calls: times(n, (i) => ({
            id: `c${i}`,
            type: 'function',
            function: { name: 'f', arguments: '{}' },
          })),
        },
        ...times(n, (i) => ({ role: 'tool', tool_call_id: `c${i}`, content: 'x' })),
      ],
    }),
    'calls with one id': (n) => ({
      messages: [
        { role: 'user', content: 'x' },
        {
          role: 'assistant',
          tool_calls: times(n, () => ({
            id: 'c',
            type: 'function',
            function: { name: 'f', arguments: '{}' },
          })),
        },
        ...times(n, () => ({ role: 'tool', tool_call_id: 'c', content: 'x' })),
      ],
    }),
    tools: (n) => ({
      messages: [{ role: 'user', content: 'x' }],
      tools: times(n, (i) => ({ type: 'function', function: { name: `tool_${i}`, parameters: schema } })),
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'auto',
          tools: times(n, (i) => ({ type: 'function', function: { name: `tool_${i}` } })),
        },
      },
    }),
  },
};

const N = 1000;
const ENDPOINTS = { responses: RESPONSES, messages: MESSAGES, chat: CHAT } as const;
const bodyOf = (caller: TextProtocol, shape: (n: number) => object, n: number): object => ({
  model: 'm',
  ...(caller === 'messages' && { max_tokens: 10 }),
  ...shape(n),
});

const CASES = TEXT_PROTOCOLS.flatMap((caller) =>
  Object.entries(SHAPES[caller]).map(([name, shape]) => [caller, name, shape] as const),
);

test.for(CASES)('%s, %s: linear for every upstream, passed or translated', ([caller, , shape]) => {
  for (const upstream of CONVERSATION_PROTOCOLS) {
    const target = testTarget(upstream, { mergeMessages: true });
    expectLinear(N, (n) => {
      const bytes = Buffer.from(JSON.stringify(bodyOf(caller, shape, n)));
      return () => {
        const request = describeRequest(ENDPOINTS[caller], bytes, JSON.parse(bytes.toString()));
        const body = effectiveBody(caller, request.content.take());
        try {
          JSON.stringify(translateRequest({ caller, body, target, tokens: testTokens }).body);
        } catch {
          // Refused by this upstream, which has to be linear too.
        }
      };
    });
  }
  expectLinear(N, (n) => {
    const bytes = Buffer.from(JSON.stringify(bodyOf(caller, shape, n)));
    const target = testTarget(caller);
    return () => {
      const body = parseBody(bytes.toString());
      replaceModel(bytes, 'another');
      setMember(bytes, 'user', 'x');
      exchangeMembers(bytes, ['model', 'type'], { stream: true });
      mayHoldTokens(bytes, 'messages');
      if (!isJsonObject(body)) return;
      restoreTokens(body, caller, target, testTokens);
      demandOneTool(body, caller);
      const list = body.input ?? body.messages;
      if (!Array.isArray(list)) return;
      if (caller === 'responses') keptItems(list, 20_000);
      if (caller === 'messages') keptMessages(list, 20_000);
      const conversation = PROTOCOLS[caller].decodeRequest(effectiveBody(caller, body), testTokens);
      transcriptOf(conversation, { toolText: 100, document: 100, instructions: 100, images: 4 });
    };
  });
});

const sse = (events: readonly object[]) =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

const responseEnd = (output: readonly object[]) => ({
  type: 'response.completed',
  response: { status: 'completed', output, usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } },
});
const said = (i: number, id: string) => ({
  id: `${id}${i}`,
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: text(i), annotations: [] }],
});
const called = (i: number) => ({
  id: `fc_${i}`,
  type: 'function_call',
  call_id: `c${i}`,
  name: 'f',
  arguments: '{}',
});

const geminiFrame = (candidate: object) => ({
  candidates: [{ finishReason: 'STOP', ...candidate }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
});

/** Streams with many small events, and many parts that overlap. */
const STREAMS: Readonly<Record<string, readonly [ConversationProtocol, (n: number) => string]>> = {
  'deltas of text': [
    'chat',
    (n) =>
      sse([
        ...times(n, () => ({ choices: [{ index: 0, delta: { content: 'x' } }] })),
        { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
      ]),
  ],
  'pieces of arguments': [
    'chat',
    (n) =>
      sse([
        ...times(n, (i) => ({
          choices: [
            {
              index: 0,
              delta: {
                tool_calls: [
                  i === 0
                    ? { index: 0, id: 'c', function: { name: 'f', arguments: '{"a":"' } }
                    : { index: 0, function: { arguments: 'x' } },
                ],
              },
            },
          ],
        })),
        {
          choices: [
            {
              index: 0,
              delta: { tool_calls: [{ index: 0, function: { arguments: '"}' } }] },
              finish_reason: 'tool_calls',
            },
          ],
          usage,
        },
      ]),
  ],
  'calls one after the other': [
    'chat',
    (n) =>
      sse([
        ...times(n, (i) => ({
          choices: [
            {
              index: 0,
              delta: { tool_calls: [{ index: i, id: `c${i}`, function: { name: 'f', arguments: '{}' } }] },
            },
          ],
        })),
        { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }], usage },
      ]),
  ],
  'whole items, which the last event has under other ids': [
    'responses',
    (n) =>
      sse([
        ...times(n, (i) => ({ type: 'response.output_item.done', output_index: i, item: said(i, 'a') })),
        responseEnd(times(n, (i) => said(i, 'b'))),
      ]),
  ],
  'items that overlap': [
    'responses',
    (n) =>
      sse([
        ...times(n, (i) => ({ type: 'response.output_item.added', output_index: i, item: called(i) })),
        ...times(n, (i) => ({ type: 'response.output_item.done', output_index: i, item: called(i) })),
        responseEnd(times(n, called)),
      ]),
  ],
  'parts of one item': [
    'responses',
    (n) =>
      sse([
        ...times(n, (i) => ({
          type: 'response.output_text.delta',
          item_id: 'a',
          output_index: 0,
          content_index: i,
          delta: text(i),
        })),
        ...times(n, (i) => ({ type: 'response.output_text.done', item_id: 'a', text: text(i) })),
        responseEnd([]),
      ]),
  ],
  'citations before their text': [
    'responses',
    (n) =>
      sse([
        ...times(n, () => ({
          type: 'response.output_text.annotation.added',
          output_index: 0,
          content_index: 0,
          annotation: { type: 'url_citation', url: 'https://example.com', title: 'a' },
        })),
        responseEnd([said(0, 'a')]),
      ]),
  ],
  'blocks that overlap': [
    'messages',
    (n) =>
      sse([
        { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
        ...times(n, (index) => ({
          type: 'content_block_start',
          index,
          content_block: { type: 'tool_use', id: `c${index}`, name: 'f', input: {} },
        })),
        ...times(n, (index) => ({ type: 'content_block_stop', index })),
        {
          type: 'message_delta',
          delta: { stop_reason: 'tool_use' },
          usage: { input_tokens: 1, output_tokens: 1 },
        },
        { type: 'message_stop' },
      ]),
  ],
  'calls of one frame': [
    'gemini',
    (n) =>
      sse([
        geminiFrame({ content: { parts: times(n, (i) => ({ functionCall: { name: `f${i}`, args: {} } })) } }),
      ]),
  ],
  'texts between thoughts, with the pages that they rest on': [
    'gemini',
    (n) =>
      sse([
        geminiFrame({
          groundingMetadata: {
            groundingChunks: [{ web: { uri: 'https://example.com', title: 'a' } }],
            groundingSupports: times(n, (i) => ({
              segment: { startIndex: i, endIndex: i + 1 },
              groundingChunkIndices: [0],
            })),
          },
          content: { parts: times(n, (i) => (i % 2 === 0 ? { text: 'x' } : { text: 'x', thought: true })) },
        }),
      ]),
  ],
  'token probabilities of many texts': [
    'gemini',
    (n) =>
      sse([
        geminiFrame({
          logprobsResult: { chosenCandidates: times(n, () => ({ token: 'x', logProbability: -1 })) },
          content: { parts: times(n, () => ({ text: 'x' })) },
        }),
      ]),
  ],
  'blocks that do not stop': [
    'converse',
    (n) =>
      sse([
        { messageStart: { role: 'assistant' } },
        ...times(n, (contentBlockIndex) => ({
          contentBlockDelta: { contentBlockIndex, delta: { text: text(contentBlockIndex) } },
        })),
        { messageStop: { stopReason: 'end_turn' } },
        { metadata: { usage: { inputTokens: 1, outputTokens: 1 } } },
      ]),
  ],
};

test.for(Object.entries(STREAMS))('a stream of %s: linear for every caller', ([, [upstream, make]]) => {
  for (const caller of TEXT_PROTOCOLS) {
    if (caller === upstream) continue;
    const plan = planFor(caller, upstream);
    expectLinear(N, (n) => {
      const bytes = Buffer.from(make(n));
      return () => {
        const translator = new StreamTranslator(plan, testReplyContext());
        for (let at = 0; at < bytes.length; at += 16_384) translator.push(bytes.subarray(at, at + 16_384));
        translator.end();
      };
    });
  }
});

test.for([
  ['one byte at a time', (bytes: Buffer) => times(bytes.length, (at) => bytes.subarray(at, at + 1))],
  ['whole', (bytes: Buffer) => [bytes]],
] as const)('a large frame and many small ones are cut in linear time, %s', ([, cut]) => {
  const streams = [
    (n: number) => `data: ${'x'.repeat(20 * n)}\n\n`,
    (n: number) => 'data: {}\n\n'.repeat(n),
    (n: number) => 'data: {}\n'.repeat(n),
    (n: number) => `${':\n'.repeat(4 * n)}\n`,
  ];
  for (const make of streams)
    expectLinear(2 * N, (n) => {
      const chunks = cut(Buffer.from(make(n)));
      return () => {
        const frames = createFrameReader({ maxFrameBytes: 1 << 26 });
        for (const chunk of chunks) for (const frame of frames.push(chunk)) frame.data;
        frames.end();
      };
    });
});

test.for(['responses', 'messages', 'chat'] as const)(
  'the calls of a streamed answer over %s are looked up in a request of as many in linear time',
  (protocol) => {
    const framesOf = (n: number) => {
      const id = (i: number) => `call_${i}_${'a'.repeat(20)}`;
      const event = {
        responses: (i: number) => ({
          type: 'response.output_item.done',
          output_index: i,
          item: { ...called(i), call_id: id(i) },
        }),
        messages: (i: number) => ({
          type: 'content_block_start',
          index: i,
          content_block: { type: 'tool_use', id: id(i), name: 'f', input: {} },
        }),
        chat: (i: number) => ({ choices: [{ index: 0, delta: { tool_calls: [{ index: i, id: id(i) }] } }] }),
      }[protocol];
      return createFrameReader({ maxFrameBytes: 1 << 26 }).push(Buffer.from(sse(times<object>(n, event))));
    };
    expectLinear(N, (n) => {
      const sent = Buffer.from(
        JSON.stringify(
          times(n, (i) => ({ call_id: `call_${i}_${'b'.repeat(20)}`, arguments: text(i).repeat(20) })),
        ),
      );
      const frames = framesOf(n);
      return () => {
        const ids =
          protocol === 'responses'
            ? new GivenIds({ sent: new SentIds(sent), heldBy: null })
            : new RepeatedCallIds(protocol, new SentIds(sent), { toolCallIds: 'any' });
        for (const frame of frames) expect(ids.frame(frame)).toBeNull();
      };
    });
  },
);

test('stop sequences cost by the character of the answer, however many and long they are', () => {
  const run = (sequences: readonly string[], deltas: number) => () => {
    const step = new StopSequenceStep(sequences);
    for (let at = 0; at < deltas; at += 1)
      for (const _ of step.event({ type: 'text-delta', text: 'aaaaaaaa' }));
    for (const _ of step.event({ type: 'text-end' }));
  };
  expectLinear(40, (n) =>
    run(
      times(n, (i) => `${'a'.repeat(1000)}${i}b`),
      5000,
    ),
  );
  expectLinear(5000, (n) =>
    run(
      times(256, (i) => `${'a'.repeat(1000)}${i}b`),
      n,
    ),
  );
});

test.for([
  ['input', { input: times(100_001, () => ({})) }, 'array_above_max_length'],
  ['tools', { input: 'x', tools: times(100_001, () => ({})) }, 'array_above_max_length'],
  ['stop', { messages: [], stop: ['x'.repeat(1025)] }, 'string_above_max_length'],
  ['stop_sequences', { messages: [], stop_sequences: times(257, text) }, 'array_above_max_length'],
] as const)('more of %s than any conversation needs is refused, by its path', ([member, body, code]) => {
  const endpoint = 'input' in body ? RESPONSES : 'stop' in body ? CHAT : MESSAGES;
  expect(() => describeRequest(endpoint, Buffer.alloc(0), { model: 'm', max_tokens: 1, ...body })).toThrow(
    expect.objectContaining({
      code,
      options: expect.objectContaining({ path: expect.arrayContaining([member]) }),
    }),
  );
});
