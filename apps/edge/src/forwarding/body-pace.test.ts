import { expect, test } from 'vitest';
import { followBody, RATE_WINDOW_MS, type Slowness } from './body-pace.ts';

const LIMITS = { idleMs: 10_000, minBytesPerSecond: 100 };
const START = { nowMs: 5000, bytes: 1000, held: false };

/** The verdicts of one reading a second; `bytesAt` and `heldAt` are by the second. */
function firstFinding(
  seconds: number,
  { bytesAt, heldAt = () => false }: { bytesAt: (at: number) => number; heldAt?: (at: number) => boolean },
  limits = LIMITS,
): [second: number, Slowness] | undefined {
  const look = followBody(START, limits);
  for (let at = 1; at <= seconds; at += 1) {
    const found = look({
      nowMs: START.nowMs + at * 1000,
      bytes: START.bytes + bytesAt(at),
      held: heldAt(at),
    });
    if (found !== undefined) return [at, found];
  }
  return undefined;
}

test('a body without new bytes is idle after that time, counted from its last byte', () => {
  expect(firstFinding(60, { bytesAt: () => 0 })).toEqual([10, 'idle']);
  expect(firstFinding(60, { bytesAt: (at) => Math.min(at, 7) * 1000 })).toEqual([17, 'idle']);
});

test('a body below the rate is too slow at the end of a window, however evenly it arrives', () => {
  expect(firstFinding(60, { bytesAt: (at) => at * 99 })).toEqual([RATE_WINDOW_MS / 1000, 'slow']);
  expect(firstFinding(3600, { bytesAt: (at) => at * 100 })).toBeUndefined();
});

test('a connection that is lost for some seconds and then catches up is not too slow', () => {
  const inBursts = (at: number) => Math.floor(at / 9) * 3000;
  expect(firstFinding(3600, { bytesAt: inBursts })).toBeUndefined();
});

test('a fast beginning does not make up for a slow rest', () => {
  expect(firstFinding(120, { bytesAt: (at) => 1e9 + at })).toEqual([60, 'slow']);
});

test('time in which the service takes nothing does not count against the caller', () => {
  const stalled = { bytesAt: () => 0, heldAt: () => true };
  expect(firstFinding(3600, stalled)).toBeUndefined();
  const resumed = { bytesAt: () => 0, heldAt: (at: number) => at <= 100 };
  expect(firstFinding(3600, resumed)).toEqual([110, 'idle']);
});

test('without a rate only idleness counts', () => {
  const limits = { ...LIMITS, minBytesPerSecond: 0 };
  expect(firstFinding(3600, { bytesAt: (at) => at }, limits)).toBeUndefined();
  expect(firstFinding(3600, { bytesAt: () => 0 }, limits)).toEqual([10, 'idle']);
});
