import { expect, test } from 'vitest';
import { createUnderway } from './underway.ts';

const items = (count: number) => Array.from({ length: count }, (_, name) => ({ name, index: -1 }));

test('in any order of starts and ends, the list has exactly the requests that have not ended', () => {
  const underway = createUnderway<{ name: number; index: number }>();
  const all = items(50);
  const there = new Set<(typeof all)[number]>();
  for (let step = 0; step < 2000; step += 1) {
    // A fixed walk through all items, in a different order each time.
    const item = all[(step * step + 7 * step) % all.length];
    if (item === undefined) continue;
    expect(underway.has(item)).toBe(there.has(item));
    if (there.delete(item)) underway.remove(item);
    else {
      there.add(item);
      underway.add(item);
    }
    expect(new Set(underway.all())).toEqual(there);
  }
});

test('removing a request that has ended or was never added changes nothing', () => {
  const underway = createUnderway<{ name: number; index: number }>();
  const [first, second, stranger] = items(3);
  if (first === undefined || second === undefined || stranger === undefined) throw new Error('no items');
  underway.add(first);
  underway.add(second);
  underway.remove(stranger);
  underway.remove(first);
  underway.remove(first);
  expect(underway.all()).toEqual([second]);
});
