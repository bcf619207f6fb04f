import { expect, test } from 'vitest';
import { isQuiet } from './quiet-hours.ts';
import { dueReport, lastDueOn } from './weekly-report.ts';

const NIGHT = { from: '22:00', to: '07:00', days: null, holdsUrgent: false };
const WEEKEND = { from: '00:00', to: '00:00', days: ['saturday', 'sunday'] as const, holdsUrgent: false };

test.for([
  ['Europe/Berlin', '2026-11-26T21:00:00Z', NIGHT, true],
  ['Europe/Berlin', '2026-11-26T20:59:00Z', NIGHT, false],
  ['Europe/Berlin', '2026-11-26T05:59:00Z', NIGHT, true],
  ['Europe/Berlin', '2026-11-26T06:00:00Z', NIGHT, false],
  // In summer the clock is another hour ahead.
  ['Europe/Berlin', '2026-07-26T05:00:00Z', NIGHT, false],
  ['America/New_York', '2026-11-26T05:00:00Z', NIGHT, true],
  ['UTC', '2026-11-28T12:00:00Z', WEEKEND, true],
  ['UTC', '2026-11-29T23:59:00Z', WEEKEND, true],
  ['UTC', '2026-11-30T00:00:00Z', WEEKEND, false],
  ['UTC', '2026-11-27T23:59:00Z', WEEKEND, false],
  // The night that begins on Friday ends on Saturday.
  ['UTC', '2026-11-28T03:00:00Z', { ...NIGHT, days: ['friday'] as const }, true],
  ['UTC', '2026-11-28T23:00:00Z', { ...NIGHT, days: ['friday'] as const }, false],
  ['UTC', '2026-11-26T12:30:00Z', { ...NIGHT, from: '12:00', to: '13:00' }, true],
  ['UTC', '2026-11-26T13:00:00Z', { ...NIGHT, from: '12:00', to: '13:00' }, false],
] as const)('in %s, %s is in the quiet hours %o: %s', ([zone, at, hours, expected]) => {
  expect(isQuiet(hours, zone, Date.parse(at))).toBe(expected);
});

const MONDAY = { receivers: ['ops'], day: 'monday', at: '08:00' } as const;

test.for([
  ['2026-11-26T12:00:00Z', '2026-11-23'],
  ['2026-11-23T08:00:00Z', '2026-11-23'],
  ['2026-11-23T07:59:00Z', '2026-11-16'],
] as const)('at %s the last report was due on %s', ([at, date]) => {
  expect(lastDueOn(MONDAY, 'UTC', Date.parse(at))).toBe(date);
});

test.for([
  // The first one is not of a time before alerts were configured.
  [null, '2026-11-23T08:00:00Z', null],
  ['2026-11-16', '2026-11-23T07:59:00Z', null],
  ['2026-11-16', '2026-11-23T08:00:00Z', '2026-11-23'],
  ['2026-11-23', '2026-11-23T08:01:00Z', null],
  // The database was away on Monday.
  ['2026-11-16', '2026-11-25T08:00:00Z', '2026-11-23'],
  ['2026-11-16', '2026-11-28T08:00:00Z', null],
  // The clock was set back, by an hour and by a year.
  ['2026-11-23', '2026-11-23T07:30:00Z', null],
  ['2027-11-22', '2026-11-23T08:00:00Z', '2026-11-23'],
] as const)('after that of %s, at %s the report of %s is sent', ([reportedOn, at, expected]) => {
  expect(dueReport(MONDAY, { reportedOn, timeZone: 'UTC', nowMs: Date.parse(at) })).toBe(expected);
});
