import { expect, test } from 'vitest';
import { GOALS, type Goal, holdGoals } from './goals.ts';
import type { Figures } from './row.ts';
import { ROWS } from './rows.ts';

const measured = (figures: Record<string, Record<string, number>>): ReadonlyMap<string, Figures> =>
  new Map(
    Object.entries(figures).map(([row, values]) => [
      row,
      new Map(Object.entries(values).map(([name, value]) => [name, { value }])),
    ]),
  );
const half: Goal = { row: 'small', way: 'each', over: 'portkey', atMost: 0.5 };

test('every goal is about a row that is measured', () => {
  const ids = ROWS.map(({ id }) => id);
  for (const { row, baseRow } of GOALS) expect(ids).toEqual(expect.arrayContaining([row, baseRow ?? row]));
});

test('a goal is met up to its bound and missed beyond it', () => {
  const at = (ours: number) =>
    holdGoals([half], measured({ small: { portkey: 100, 'gateway (each)': ours } })).map(({ met }) => met);
  expect(at(50)).toEqual([true]);
  expect(at(51)).toEqual([false]);
});

test('a goal with a lower bound is missed below it', () => {
  const goal: Goal = { row: 'throughput', way: 'one', limits: true, over: 'portkey', atLeast: 2 };
  const at = (ours: number) =>
    holdGoals([goal], measured({ throughput: { portkey: 10, 'gateway (one), limits': ours } }));
  expect(at(20)[0]?.met).toBe(true);
  expect(at(19)[0]?.met).toBe(false);
});

test('a translated row is held against the row that the peer passes', () => {
  const goal: Goal = { ...half, row: 'translated', baseRow: 'small' };
  const found = measured({
    small: { portkey: 100 },
    translated: { 'gateway (each)': 40 },
  });
  expect(holdGoals([goal], found)[0]).toMatchObject({ measured: 0.4, met: true });
});

test('storing is held against the same request that is not stored', () => {
  const goal: Goal = { ...half, row: 'stored', over: 'itself', atMost: 1.25 };
  const found = measured({ stored: { 'gateway (each)': 120, 'gateway (each), not stored': 100 } });
  expect(holdGoals([goal], found)[0]).toMatchObject({ measured: 1.2, met: true });
});

test('a goal whose row was not measured is neither met nor missed', () => {
  expect(holdGoals([half], measured({}))).toEqual([]);
});
