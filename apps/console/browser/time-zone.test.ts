import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

// The zone that is chosen is kept by the browser.
const stored = new Map<string, string>();
vi.stubGlobal('localStorage', {
  getItem: (name: string) => stored.get(name) ?? null,
  setItem: (name: string, value: string) => void stored.set(name, value),
});

afterAll(() => void vi.unstubAllGlobals());

type Zones = typeof import('../src/parts/time-zone.ts');
type Ranges = typeof import('../src/pages/traffic/time-range.ts');
let zones: Zones;
let ranges: Ranges;
beforeAll(async () => {
  zones = await import('../src/parts/time-zone.ts');
  ranges = await import('../src/pages/traffic/time-range.ts');
});

const at = (moment: string): number => Date.parse(moment);

test('what clocks of a zone show is the moment that they show, also on days that have 23 or 25 hours', () => {
  const moments = [
    '2026-03-29T00:30:00Z',
    '2026-03-29T02:00:00Z',
    '2026-10-25T23:00:00Z',
    '2026-11-26T12:34:00Z',
  ];
  for (const zone of ['UTC', 'Europe/Berlin', 'America/Los_Angeles', 'Asia/Kolkata', 'Pacific/Kiritimati'])
    for (const moment of moments)
      expect(zones.instantOf(zones.wallTime(at(moment), zone), zone), `${moment} ${zone}`).toBe(at(moment));
  expect(zones.wallTime(at('2026-11-26T23:30:00Z'), 'Europe/Berlin')).toBe('2026-11-27T00:30');
  expect(
    zones.dayStartMs('2026-10-26', 'Europe/Berlin') - zones.dayStartMs('2026-10-25', 'Europe/Berlin'),
  ).toBe(25 * 3_600_000);
});

test('a zone that there is not is not shown in', () => {
  const before = zones.timeZone();
  zones.chooseTimeZone('Mars/Olympus');
  expect(zones.timeZone()).toBe(before);
  zones.chooseTimeZone('Asia/Tokyo');
  expect([zones.timeZone(), stored.get('gateway-time-zone')]).toEqual(['Asia/Tokyo', 'Asia/Tokyo']);
  zones.chooseTimeZone('UTC');
});

describe('ranges', () => {
  const now = at('2026-11-26T23:30:00Z');

  test('of days begin and end with days of the zone, and name each of them once', () => {
    const span = ranges.spanOf({ range: '30d' }, '30d', now, 'Europe/Berlin');
    expect(new Date(span.fromMs).toISOString()).toBe('2026-10-28T23:00:00.000Z');
    const days = ranges.bucketsOf(span);
    expect([days.length, days.at(0), days.at(-1)]).toEqual([30, '2026-10-29', '2026-11-27']);
    const before = ranges.spanBefore(span);
    expect(ranges.bucketsOf(before).at(0)).toBe('2026-09-29');
    expect(before.toMs - before.fromMs).toBe(span.toMs - span.fromMs);
    expect(ranges.bucketsOf(ranges.spanOf({ range: '30d' }, '30d', now, 'UTC')).at(-1)).toBe('2026-11-26');
  });

  test('of two days hold both, by the hours of usage', () => {
    const span = ranges.spanOf({ from: '2026-10-25', to: '2026-10-25' }, '30d', now, 'Europe/Berlin');
    const hours = ranges.bucketsOf(span);
    expect([hours.length, hours.at(0), hours.at(-1)]).toEqual([
      ...[25, '2026-10-24T22:00:00Z', '2026-10-25T22:00:00Z'],
    ]);
    const half = ranges.bucketsOf(
      ranges.spanOf({ from: '2026-11-20', to: '2026-11-20' }, '30d', now, 'Asia/Kolkata'),
    );
    expect(half.at(0)).toBe('2026-11-19T18:00:00Z');
  });

  test.for([
    { from: '0002-11-20', to: '2026-11-26' },
    { from: '2026-11-20', to: '0020-11-26' },
    { from: '0000-01-01' },
    { to: '9999-12-31' },
    { from: '0000-01-01T00:00:00Z', to: '9999-12-31T23:59:59Z' },
  ])('of any years that an address names are moments: %j', (range) => {
    for (const zone of ['UTC', 'America/Los_Angeles', 'Pacific/Kiritimati']) {
      const span = ranges.spanOf(range, '30d', now, zone);
      const before = ranges.spanBefore(span);
      for (const atMs of [span.fromMs, span.toMs, before.fromMs, before.toMs])
        expect(() => new Date(atMs).toISOString(), zone).not.toThrow();
    }
  });
});
