import { expect, test } from 'vitest';
import { rangeOf } from './usage-range.ts';

test('a range without an end includes what has ended in this very millisecond', () => {
  expect(rangeOf({ from: '2026-11-20' }, Date.parse('2026-11-20T08:00:00.000Z'))).toEqual({
    fromMs: Date.parse('2026-11-20'),
    toMs: Date.parse('2026-11-20T08:00:00.001Z'),
  });
});

test('dates are days of the time zone that is named, also where its clocks are changed', () => {
  const range = (from: string, to: string, timeZone?: string) => {
    const { fromMs, toMs } = rangeOf({ from, to, timeZone }, Date.now());
    return [new Date(fromMs).toISOString(), (toMs - fromMs) / 3_600_000];
  };
  expect(range('2026-10-25', '2026-10-26')).toEqual(['2026-10-25T00:00:00.000Z', 24]);
  expect(range('2026-10-25', '2026-10-26', 'Europe/Berlin')).toEqual(['2026-10-24T22:00:00.000Z', 25]);
  expect(range('2026-11-20', '2026-11-21', 'Pacific/Kiritimati')).toEqual(['2026-11-19T10:00:00.000Z', 24]);
  expect(range('2026-11-20', '2026-11-20T12:00:00Z', 'America/Los_Angeles')).toEqual([
    ...['2026-11-20T08:00:00.000Z', 4],
  ]);
});
