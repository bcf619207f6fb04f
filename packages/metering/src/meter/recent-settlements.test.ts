import { expect, test } from 'vitest';
import { createRecentSettlements } from './recent-settlements.ts';

test('what was settled is there again and again, each once, until some seconds have passed', () => {
  let nowMs = 0;
  const recent = createRecentSettlements(() => nowMs);
  for (const record of ['one', 'two', 'one']) recent.add(record);
  expect(recent.all()).toEqual(['one', 'two']);
  expect(recent.all()).toEqual(['one', 'two']);
  nowMs = 11_000;
  recent.add('three');
  expect(recent.all()).toEqual(['one', 'two', 'three']);
  nowMs = 22_000;
  recent.add('four');
  expect(recent.all()).toEqual(['three', 'four']);
});
