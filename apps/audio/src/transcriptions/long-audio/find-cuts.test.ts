import { expect, test } from 'vitest';
import { findParts } from './find-cuts.ts';

const at = (middle: number) => ({ start: middle - 0.2, end: middle + 0.2 });

test('a recording within the bound is one part', () => {
  expect(findParts({ durationSeconds: 10, silences: [at(5)], maxSeconds: 10 })).toEqual([
    { start: 0, end: 10 },
  ]);
});

test('it is cut in the last silence that a part can reach, and not far too early', () => {
  const silences = [1, 6, 9, 11, 19.5, 26].map(at);
  expect(findParts({ durationSeconds: 28, silences, maxSeconds: 10 })).toEqual([
    { start: 0, end: 9 },
    // At 11 there is a silence too, but it would leave most of the part unused.
    { start: 9, end: 19 },
    { start: 19, end: 28 },
  ]);
});

test('where nobody pauses it is cut at the bound', () => {
  const parts = findParts({ durationSeconds: 25, silences: [at(1), at(12)], maxSeconds: 10 });
  expect(parts).toEqual([
    { start: 0, end: 10 },
    { start: 10, end: 20 },
    { start: 20, end: 25 },
  ]);
});

test('no part is too short to be sent, none is longer than the bound, and none is missing', () => {
  for (const durationSeconds of [10.01, 20.05, 30.099, 99.99]) {
    const parts = findParts({ durationSeconds, silences: [at(9.99), at(19.99)], maxSeconds: 10 });
    expect(parts[0]?.start).toBe(0);
    expect(parts.at(-1)?.end).toBe(durationSeconds);
    for (const [index, { start, end }] of parts.entries()) {
      expect(end - start).toBeGreaterThanOrEqual(0.0999);
      expect(end - start).toBeLessThanOrEqual(10);
      if (index > 0) expect(start).toBe(parts[index - 1]?.end);
    }
  }
});
