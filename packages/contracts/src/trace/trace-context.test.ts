import { expect, test } from 'vitest';
import { newSpanId, newTraceId, readTraceparent, traceparentOf } from './trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

test.for([
  { header: `00-${TRACE}-${SPAN}-01`, isSampled: true },
  { header: `00-${TRACE}-${SPAN}-00`, isSampled: false },
  { header: `00-${TRACE}-${SPAN}-03`, isSampled: true },
  { header: ` 00-${TRACE}-${SPAN}-02 `, isSampled: false },
  { header: `cc-${TRACE}-${SPAN}-01`, isSampled: true },
  { header: `cc-${TRACE}-${SPAN}-01-what-the-future-brings`, isSampled: true },
])('"$header" is read', ({ header, isSampled }) => {
  expect(readTraceparent(header)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled });
});

test.for([
  undefined,
  '',
  'nonsense',
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01-more`,
  `cc-${TRACE}-${SPAN}-01.more`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE.slice(1)}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-1`,
  `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  `cc-${TRACE}-${SPAN}-01-${'a'.repeat(300)}`,
])('%s is no traceparent', (header) => {
  expect(readTraceparent(header)).toBeUndefined();
});

test('two headers are none', () => {
  const header = `00-${TRACE}-${SPAN}-01`;
  expect(readTraceparent([header, header])).toBeUndefined();
});

test('what is written is read again', () => {
  for (const isSampled of [true, false]) {
    const context = { traceId: newTraceId(), spanId: newSpanId(), isSampled };
    expect(readTraceparent(traceparentOf(context))).toEqual(context);
  }
});
