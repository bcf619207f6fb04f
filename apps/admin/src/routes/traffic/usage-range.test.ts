import { expect, test } from 'vitest';
import { rangeOf } from './usage-range.ts';

test('a range without an end includes what has ended in this very millisecond', () => {
  expect(rangeOf({ from: '2026-11-20' }, Date.parse('2026-11-20T08:00:00.000Z'))).toEqual({
    fromMs: Date.parse('2026-11-20'),
    toMs: Date.parse('2026-11-20T08:00:00.001Z'),
  });
});
