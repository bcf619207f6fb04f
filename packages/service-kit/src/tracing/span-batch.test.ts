import type { Span } from '@gateway/contracts/trace/request-trace';
import { readSpans } from '@gateway/testkit/otlp-messages';
import { expect, test } from 'vitest';
import { resourceMessage, SpanBatch } from './span-batch.ts';

const context = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', isSampled: true };
const parent = { ...context, spanId: '00f067aa0ba902b7' };
const span = (given: Partial<Span> = {}): Span => ({
  context,
  parent,
  links: [],
  name: 'request',
  kind: 'server',
  startMs: 1_795_644_178_950.25,
  endMs: 1_795_644_179_000.5,
  attributes: {},
  shared: null,
  events: [],
  isFailed: false,
  ...given,
});
const batch = () => new SpanBatch(resourceMessage({ 'service.name': 'gateway' }));
const taken = (from: SpanBatch) => readSpans(Buffer.from(from.take()));

test('a collector reads each member of a span as it was written', () => {
  const spans = batch();
  const event = { name: 'details', atMs: 1_795_644_178_960.5, attributes: { one: 'two' } };
  spans.add(span({ links: [parent], shared: { 'user.id': 'one' }, events: [event], isFailed: true }));
  expect(taken(spans)).toEqual([
    {
      traceId: context.traceId,
      spanId: context.spanId,
      parentSpanId: parent.spanId,
      traceState: '',
      name: 'request',
      kind: 'server',
      startTimeUnixNano: 1_795_644_178_950.25,
      endTimeUnixNano: 1_795_644_179_000.5,
      attributes: { 'user.id': 'one' },
      links: [{ traceId: parent.traceId, spanId: parent.spanId }],
      events: [{ name: 'details', timeUnixNano: 1_795_644_178_960.5, attributes: { one: 'two' } }],
      status: { code: 2 },
      resource: { 'service.name': 'gateway' },
    },
  ]);
});

test.for<[what: string, value: Span['attributes'][string]]>([
  ['a text', 'gpt-5.2'],
  ['no text', ''],
  ['letters of two, three and four bytes', 'ä 狗 🐳'],
  ['the longest text that has one byte of length', 'x'.repeat(127)],
  ['a text with two bytes of length', 'x'.repeat(128)],
  ['a long text', 'ß'.repeat(100_000)],
  ['half of a letter', '\u{1f433}'.slice(0, 1)],
  ['zero', 0],
  ['a whole number', 300],
  ['a number of 32 bits', 2 ** 31],
  ['the largest whole number', Number.MAX_SAFE_INTEGER],
  ['a negative number', -7],
  ['a fraction', 0.00015],
  ['a number that is larger', 1e300],
  ['true', true],
  ['false', false],
  ['a list', ['one', '狗', 'x'.repeat(300)]],
  ['an empty list', []],
])('%s is read as it was written', ([, value]) => {
  const spans = batch();
  spans.add(span({ attributes: { before: 1, value, after: 'text', nothing: undefined, none: null } }));
  const read = typeof value === 'string' ? value.toWellFormed() : value;
  expect(taken(spans).map(({ attributes }) => attributes)).toEqual([
    { before: 1, value: read, after: 'text' },
  ]);
});

test('a span does not say whether its parent is in another process', () => {
  const spans = batch();
  spans.add(span());
  // `Span.flags`, with the bit of a sampled trace alone.
  expect(Buffer.from(spans.take()).includes(Buffer.from([0x85, 0x01, 1, 0, 0, 0]))).toBe(true);
});

test('a batch is empty when it was taken, and may be filled again', () => {
  const spans = batch();
  for (const name of ['one', 'two']) spans.add(span({ name }));
  expect(taken(spans).map(({ name }) => name)).toEqual(['one', 'two']);
  expect(spans.count).toBe(0);
  spans.add(span({ name: 'three', parent: null }));
  expect(taken(spans)).toMatchObject([{ name: 'three', parentSpanId: null }]);
});

test('a span does not end before it begins', () => {
  const spans = batch();
  spans.add(span({ startMs: 2000.5, endMs: 1000 }));
  expect(taken(spans)).toMatchObject([{ startTimeUnixNano: 2000.5, endTimeUnixNano: 2000.5 }]);
});
