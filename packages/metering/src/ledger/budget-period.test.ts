import fc from 'fast-check';
import { expect, test } from 'vitest';
import { periodEndMs, periodOf } from './budget-period.ts';

const at = (iso: string) => Date.parse(iso);

test.for([
  ['day', 'UTC', '2026-11-20T23:59:59.999Z', '2026-11-20'],
  ['day', 'UTC', '2026-11-21T00:00:00.000Z', '2026-11-21'],
  ['day', 'America/New_York', '2026-11-21T04:59:59Z', '2026-11-20'],
  ['day', 'America/New_York', '2026-11-21T05:00:00Z', '2026-11-21'],
  ['day', 'Pacific/Kiritimati', '2026-11-20T10:00:00Z', '2026-11-21'],
  ['month', 'Europe/Berlin', '2026-10-31T23:30:00Z', '2026-11'],
  ['month', 'Europe/Berlin', '2026-10-31T22:30:00Z', '2026-10'],
  ['week', 'UTC', '2026-11-22T23:59:59Z', '2026-W47'],
  ['week', 'UTC', '2026-11-23T00:00:00Z', '2026-W48'],
  ['week', 'UTC', '2027-01-03T12:00:00Z', '2026-W53'],
  ['week', 'UTC', '2027-01-04T00:00:00Z', '2027-W01'],
  ['week', 'UTC', '2024-12-30T00:00:00Z', '2025-W01'],
  ['total', 'UTC', '2026-11-20T00:00:00Z', 'total'],
] as const)('a %s in %s at %s is %s', ([period, timeZone, moment, expected]) => {
  expect(periodOf(period, timeZone, at(moment))).toBe(expected);
});

test('the day on which the clock goes back an hour is one day', () => {
  const hours = Array.from({ length: 25 }, (_, hour) => at('2026-10-24T22:00:00Z') + hour * 3_600_000);
  expect(new Set(hours.map((hour) => periodOf('day', 'Europe/Berlin', hour)))).toEqual(
    new Set(['2026-10-25']),
  );
});

test.for([
  ['day', 'Europe/Berlin', '2026-10-25T12:00:00Z', '2026-10-25T23:00:00Z'],
  ['day', 'Europe/Berlin', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'],
  ['week', 'UTC', '2026-11-20T12:00:00Z', '2026-11-23T00:00:00Z'],
  ['month', 'America/New_York', '2026-10-31T12:00:00Z', '2026-11-01T04:00:00Z'],
  ['month', 'UTC', '2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'],
] as const)('a %s in %s that %s falls into ends at %s', ([period, timeZone, moment, expected]) => {
  expect(periodEndMs(period, timeZone, at(moment))).toBe(at(expected));
});

test('a total never ends, and every period ends with the last moment that has its name', () => {
  expect(periodEndMs('total', 'UTC', at('2026-11-20T00:00:00Z'))).toBeNull();
  fc.assert(
    fc.property(
      fc.constantFrom('day' as const, 'week' as const, 'month' as const),
      fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Auckland'),
      fc.integer({ min: at('2024-01-01T00:00:00Z'), max: at('2032-01-01T00:00:00Z') }),
      (period, timeZone, moment) => {
        const end = periodEndMs(period, timeZone, moment) ?? 0;
        const name = periodOf(period, timeZone, moment);
        return periodOf(period, timeZone, end - 1) === name && periodOf(period, timeZone, end) !== name;
      },
    ),
  );
});
