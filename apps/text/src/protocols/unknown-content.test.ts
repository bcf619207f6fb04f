import { readdirSync, readFileSync } from 'node:fs';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ConversationProtocol } from '@gateway/upstream/protocol';
import { expect, test } from 'vitest';
import { translateReply } from '../conversion/translate-reply.ts';
import { StreamTranslator } from '../conversion/translate-stream.ts';
import { testReplyContext } from '../testing/test-context.ts';
import { CALLERS, planFor, type StreamFixture, streamFixtures, upstreamOf } from '../testing/test-streams.ts';
import { isJsonObject } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';

/** Events that no protocol has, with members of types that nobody expects. */
const STRANGE = {
  delta: { a: 1 },
  item: 'x',
  part: [],
  response: 5,
  error: true,
  annotation: 3,
  item_id: 7,
  output_index: 'x',
  content_block: 'x',
  message: 7,
  usage: 'x',
  index: 'a',
  code: {},
};

/** What a server may send beside its answer. None of it is part of the answer. */
const UNKNOWN_EVENTS: Readonly<Record<ConversationProtocol, readonly object[]>> = {
  gemini: [{ ...STRANGE }, { candidates: [{ index: 0, content: { parts: [{ mystery: STRANGE }] } }] }],
  responses: [
    { type: 'response.mystery.delta', ...STRANGE },
    { type: 'mystery' },
    { ...STRANGE },
    { type: 'response.output_item.added', output_index: 99, item: { type: 'mystery_call', id: 'm' } },
    { type: 'response.content_part.added', output_index: 99, part: { type: 'mystery' } },
    { type: 'response.output_item.done', output_index: 99, item: { type: 'mystery_call', id: 'm' } },
    { type: 'response.output_item.added', output_index: 99 },
    { type: 'response.output_text.annotation.added', output_index: 99, annotation: 'x' },
  ],
  messages: [
    { type: 'mystery', ...STRANGE },
    { type: 'mystery' },
    { ...STRANGE },
    { type: 'content_block_start', index: 99, content_block: { type: 'mystery', text: 5 } },
    { type: 'content_block_delta', index: 99, delta: { type: 'text_delta', text: 'not of this answer' } },
    { type: 'content_block_stop', index: 99 },
    { type: 'content_block_delta', delta: { type: 'mystery_delta', text: { a: 1 } } },
    { type: 'content_block_delta', delta: 5 },
  ],
  chat: [
    { object: 'mystery' },
    { choices: [], mystery: { delta: {} } },
    { choices: null, usage: 'x', service_tier: 5, id: 7, model: {} },
    { choices: [{ index: 1, delta: { content: 'not of this answer' } }] },
  ],
  converse: [
    { mystery: { ...STRANGE } },
    { ...STRANGE },
    { 'initial-response': {} },
    { contentBlockStart: { contentBlockIndex: 99, start: { mystery: { text: 'x' } } } },
    { contentBlockDelta: { contentBlockIndex: 99, delta: { mystery: 5, toolUse: 'x' } } },
    { contentBlockDelta: { contentBlockIndex: 99, delta: 5 } },
    { contentBlockStop: { contentBlockIndex: 99 } },
  ],
};

/** A chunk that begins an answer, so it comes only within one. */
const UNKNOWN_DELTA = {
  choices: [
    { index: 0, delta: { content: [{ type: 'mystery', text: 'x' }], tool_calls: [{ type: 'x' }, 5] } },
  ],
};

/** Objects whose unknown members are no part of an answer. */
const CONTAINERS = [
  'delta',
  'response',
  'item',
  'part',
  'content_block',
  'message',
  'usage',
  'error',
  'contentBlockDelta',
  'messageStop',
  'metadata',
];

function withUnknownMembers(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const known = Object.entries(value).map(([name, inner]) => {
    if (CONTAINERS.includes(name)) return [name, withUnknownMembers(inner)];
    if (name === 'choices' && Array.isArray(inner)) return [name, inner.map(withUnknownMembers)];
    return [name, inner];
  });
  return {
    ...Object.fromEntries(known),
    x_mystery: { type: 'mystery', delta: { text: 1 } },
    x_list: [null, 5],
  };
}

const frame = (event: unknown): string => `data: ${JSON.stringify(event)}\n\n`;

/** The stream with every unknown event before each of its own, and unknown members in each of these. */
function estranged({ bytes, upstream }: StreamFixture): string {
  const unknown = (UNKNOWN_EVENTS[upstream] ?? []).map(frame).join('');
  const within = upstream === 'chat' ? unknown + frame(UNKNOWN_DELTA) : unknown;
  return bytes
    .toString()
    .split(/(?<=\n\n)/)
    .map((text, at) => (at === 0 ? unknown : within) + text.replace(/^data: (\{.*\})$/m, withMembers))
    .join('');
}

const withMembers = (line: string, json: string): string => {
  try {
    return `data: ${JSON.stringify(withUnknownMembers(JSON.parse(json)))}`;
  } catch {
    return line;
  }
};

function translate(stream: StreamFixture, caller: TextProtocol, bytes: Buffer): string {
  const plan = planFor(caller, stream.upstream, { quirks: stream.quirks });
  const translator = new StreamTranslator(plan, testReplyContext());
  const frames = [...translator.push(bytes), ...translator.end()];
  return translator.started ? frames.join('') : `${translator.failure?.code}: ${translator.failure?.message}`;
}

const streams = streamFixtures().flatMap((stream) => CALLERS.map((caller) => ({ ...stream, caller })));

test.for(streams)(
  '$name reaches a caller of $caller the same with unknown events and members in it',
  ({ caller, ...stream }) => {
    expect(translate(stream, caller, Buffer.from(estranged(stream)))).toBe(
      translate(stream, caller, stream.bytes),
    );
  },
);

const FOLDER = new URL('./fixtures/replies/', import.meta.url);
const LISTS = ['content', 'output', 'annotations', 'citations', 'tool_calls', 'summary', 'parts'];
const SKIPPED = ['input', 'arguments', 'args', 'logprobs'];
/** Parts that go back whole, whatever they hold. */
const WHOLE = ['toolCall', 'toolResponse'];

/** A reply with unknown members in each object, and unknown entries in each list. */
function withUnknownContent(value: unknown, name = ''): unknown {
  if (SKIPPED.includes(name)) return value;
  if (Array.isArray(value)) {
    const own = value.map((entry) => withUnknownContent(entry));
    // A web search that failed has an object instead of a list.
    return LISTS.includes(name) ? [{ type: 'mystery', text: { a: 1 } }, ...own, 5, null] : own;
  }
  if (!isJsonObject(value) || WHOLE.some((member) => member in value)) return value;
  const known = Object.entries(value).map(([member, inner]) => [member, withUnknownContent(inner, member)]);
  return { ...Object.fromEntries(known), x_mystery: { type: 'mystery' } };
}

const outcome = (caller: TextProtocol, upstream: ConversationProtocol, body: unknown): unknown => {
  try {
    return translateReply(planFor(caller, upstream), body, testReplyContext());
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return [error.code, error.message];
  }
};

const replies = readdirSync(FOLDER).flatMap((file) => CALLERS.map((caller) => ({ file, caller })));

test.for(replies)(
  '$file reaches a caller of $caller the same with unknown parts and members in it',
  ({ file, caller }) => {
    const upstream = upstreamOf(file);
    const body: unknown = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8'));
    expect(outcome(caller, upstream, withUnknownContent(body))).toEqual(outcome(caller, upstream, body));
  },
);
