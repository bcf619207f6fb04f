import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { isTurnSpent, unlessSpent } from './turn-time.ts';

const PIECE = 65_536;
const work = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end; );
};

test('a turn that has worked on pieces for long is spent, and the next one is not', async () => {
  await setImmediate();
  expect(isTurnSpent(PIECE)).toBe(false);
  work(30);
  expect(isTurnSpent(PIECE)).toBe(true);
  expect(isTurnSpent(PIECE)).toBe(true);
  await unlessSpent(PIECE);
  expect(isTurnSpent(PIECE)).toBe(false);
});

test('small pieces never spend a turn', async () => {
  await setImmediate();
  expect(isTurnSpent(100)).toBe(false);
  work(30);
  expect(isTurnSpent(100)).toBe(false);
  expect(unlessSpent(100)).toBeUndefined();
});
