import { expect, test } from 'vitest';
import { ticksUpTo } from '../src/pages/traffic/axis.ts';
import { AXIS_TEXT } from '../src/pages/traffic/measures.ts';

const HIGHEST = [
  0, 0.0003, 0.0225, 0.3, 1, 7, 9.99, 650, 1_950, 2_345, 95_000, 123_456, 3_700_000, 7.77e7, 8e8,
];

test.each(['usd', 'count', 'ms'] as const)(
  'the lines of an axis are even, reach the highest value, and no two have the same text: %s',
  (unit) => {
    for (const highest of HIGHEST) {
      const ticks = ticksUpTo(highest, unit);
      const texts = ticks.map(AXIS_TEXT[unit]);
      expect(new Set(texts).size, texts.join(', ')).toBe(texts.length);
      expect(ticks.length).toBeLessThanOrEqual(6);
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(highest);
      const [, step = 0] = ticks;
      for (const [at, tick] of ticks.entries()) expect(tick).toBeCloseTo(at * step, 9);
    }
  },
);

test('ticks of dollars, counts and times are numbers that people count in', () => {
  const shown = (highest: number, unit: 'usd' | 'count' | 'ms') =>
    ticksUpTo(highest, unit).map(AXIS_TEXT[unit]);
  expect(shown(0.0225, 'usd')).toEqual(['$0', '$0.01', '$0.02', '$0.03']);
  expect(shown(1_950, 'count')).toEqual(['0', '500', '1K', '1.5K', '2K']);
  expect(shown(95_000, 'ms')).toEqual(['0 ms', '30 s', '1 min', '1 min 30 s', '2 min']);
});
