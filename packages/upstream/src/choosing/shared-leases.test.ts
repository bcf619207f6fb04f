import { waitFor } from '@gateway/testkit/wait-for';
import { expect, test } from 'vitest';
import {
  candidateOf,
  knowOfEachOther,
  type ProcessForTests,
  processWith,
  redisForTest,
} from './slots-for-tests.ts';

/** The same numbers for the same seed, in [0, 1). */
const seeded = (seed: number) => {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
};

const processesWith = async (count: number, settings: string): Promise<readonly ProcessForTests[]> => {
  const redis = await redisForTest();
  const candidate = candidateOf(settings);
  return Promise.all(Array.from({ length: count }, () => processWith(candidate, redis.url)));
};

const inFlightIn = (processes: readonly ProcessForTests[]): number =>
  processes.reduce((sum, { pool }) => sum + pool.inFlight, 0);

test.for([
  [1, 1],
  [2, 3],
  [3, 5],
  [4, 40],
] as const)(
  'three processes never have more requests in flight than the limit, and any of them can use all of it (seed %d, limit %d)',
  async ([seed, limit]) => {
    const processes = await processesWith(3, `maxConcurrent: ${limit}, maxWaitMs: 60000`);
    const random = seeded(seed);
    let most = 0;
    let ended = 0;
    const request = async (process: ProcessForTests): Promise<void> => {
      const end = await process.begin();
      if (end === null) throw new Error('it waited for a minute');
      most = Math.max(most, inFlightIn(processes));
      const turns = Math.floor(random() * 5);
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      most = Math.max(most, inFlightIn(processes));
      end();
      ended += 1;
    };
    const callers = Array.from({ length: 3 * limit }, async (_, caller) => {
      for (let count = 0; count < 20; count += 1) {
        const process = processes[(caller + Math.floor(random() * 2)) % processes.length];
        if (process !== undefined) await request(process);
      }
    });
    await Promise.all(callers);
    expect(ended).toBe(60 * limit);
    expect(most).toBeLessThanOrEqual(limit);
    expect(inFlightIn(processes)).toBe(0);
    const [any] = processes;
    const ends = await Promise.all(Array.from({ length: limit }, () => any?.begin()));
    expect(any?.pool.inFlight).toBe(limit);
    for (const end of ends) end?.();
  },
);

test('far from the limit hardly a request calls Redis', async () => {
  const [process] = await processesWith(1, 'maxConcurrent: 200');
  if (process === undefined) throw new Error('no process');
  for (let count = 0; count < 1_000; count += 1) {
    const ends = [await process.begin(), await process.begin(), await process.begin()];
    for (const end of ends) end?.();
  }
  expect(process.redisCalls).toBeLessThan(20);
});

test('a process gives slots that it does not use to one whose requests wait', async () => {
  const [first, second] = await processesWith(2, 'maxConcurrent: 32, maxWaitMs: 60000');
  if (!first || !second) throw new Error('no processes');
  const own = await first.begin();
  const others = await Promise.all(Array.from({ length: 31 }, () => second.begin()));
  expect(inFlightIn([first, second])).toBe(32);
  for (const end of [own, ...others]) end?.();
});

test('where both have more requests than there are slots, each process gets half', async () => {
  const processes = await processesWith(2, 'maxConcurrent: 4, maxWaitMs: 60000');
  const [first, second] = processes;
  if (!first || !second) throw new Error('no processes');
  const taken = await Promise.all(Array.from({ length: 4 }, () => first.begin()));
  const waiting = processes.flatMap((process) => Array.from({ length: 4 }, () => process.begin()));
  await waitFor(() => first.pool.waiting === 4 && second.pool.waiting === 4);
  await knowOfEachOther(processes);
  for (const end of taken) end?.();
  await waitFor(() => first.pool.inFlight === 2 && second.pool.inFlight === 2);
  // A request that is served ends at once, so that the next one is served.
  for (const one of waiting) void one.then((end) => end?.());
  await Promise.all(waiting);
  expect(inFlightIn(processes)).toBe(0);
});

test('without Redis each process keeps to its part, and with it again to what is free', async () => {
  const redis = await redisForTest();
  const candidate = candidateOf('maxConcurrent: 8, maxWaitMs: 60000');
  const processes = [
    await processWith(candidate, redis.url),
    await processWith(candidate, redis.url),
  ] as const;
  const [first, second] = processes;
  const own = await first.begin();
  const others = await Promise.all([second.begin(), second.begin()]);
  own?.();
  for (const end of others) end?.();
  const busy = await Promise.all([first.begin(), second.begin()]);
  await knowOfEachOther(processes);
  await redis.stop();
  const ends: (() => void)[] = [];
  const fill = async (process: ProcessForTests, count: number) => {
    for (const end of await Promise.all(Array.from({ length: count }, () => process.begin())))
      if (end !== null) ends.push(end);
  };
  await fill(first, 3);
  await fill(second, 3);
  expect([first.pool.inFlight, second.pool.inFlight]).toEqual([4, 4]);
  const late = first.begin();
  await waitFor(() => first.pool.waiting === 1);
  expect(first.pool.inFlight).toBe(4);
  for (const end of [...busy, ...ends]) end?.();
  (await late)?.();
  expect(inFlightIn([first, second])).toBe(0);
});
