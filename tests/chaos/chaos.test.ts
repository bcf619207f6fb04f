import { afterAll, beforeAll, expect, test } from 'vitest';
import { planRound } from './plan.ts';
import { runRound } from './run-round.ts';
import { startWorld, type World } from './world.ts';

/** A short round of trouble. `npm run chaos` goes on for as long as one likes. */

const SEED = 11;

let world: World;
beforeAll(async () => {
  world = await startWorld(SEED);
});
afterAll(() => world?.close());

const shortRound = (seed: number) =>
  planRound({
    seed,
    round: 1,
    durationMs: 14_000,
    requestsPerSecond: 8,
    disturbanceEveryMs: 2000,
    isShort: true,
  });

test('a seed always makes the same plan, and another one another', () => {
  expect(shortRound(SEED)).toEqual(shortRound(SEED));
  expect(shortRound(SEED + 1)).not.toEqual(shortRound(SEED));
});

test('whatever breaks, callers get what can be given, and the books are right', {
  timeout: 240_000,
}, async () => {
  const plan = shortRound(SEED);
  const violations = await runRound(world, plan);
  expect(violations, `seed ${plan.seed}: ${JSON.stringify(plan.disturbances)}`).toEqual([]);
});
