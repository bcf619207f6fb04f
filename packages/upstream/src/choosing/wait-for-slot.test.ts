import { waitFor } from '@gateway/testkit/wait-for';
import { expect, test } from 'vitest';
import { candidateOf, processWith } from './slots-for-tests.ts';

const PATIENT = 'maxConcurrentPerProcess: 2, maxWaitMs: 60000';

/** A process with two slots, both taken. */
const busyProcess = async (settings = PATIENT) => {
  const busy = await processWith(candidateOf(settings), null);
  const releases = [await busy.begin(), await busy.begin()];
  const release = (): void => {
    const next = releases.shift();
    if (!next) throw new Error('nothing is in flight');
    next();
  };
  return { busy, release };
};

test('requests wait for a slot and get it in the order in which they came', async () => {
  const { busy, release } = await busyProcess();
  const served: number[] = [];
  const waiting = [1, 2, 3].map(async (name) => {
    const end = await busy.begin();
    served.push(name);
    return end;
  });
  await waitFor(() => busy.pool.waiting === 3);
  release();
  release();
  (await waiting[0])?.();
  (await Promise.all(waiting)).slice(1).map((end) => end?.());
  expect(served).toEqual([1, 2, 3]);
  expect(busy.waits.map(({ outcome }) => outcome)).toEqual(['served', 'served', 'served']);
  expect([busy.pool.inFlight, busy.pool.waiting]).toEqual([0, 0]);
});

test('a request that comes when others wait does not overtake them', async () => {
  const { busy, release } = await busyProcess();
  const first = busy.begin();
  const second = busy.begin();
  await waitFor(() => busy.pool.waiting === 2);
  expect(busy.pool.take()).toBe(false);
  release();
  (await first)?.();
  (await second)?.();
  release();
  expect(busy.pool.take()).toBe(true);
});

test('after maxWaitMs a request goes without a slot, and nothing of it is left', async () => {
  const { busy, release } = await busyProcess('maxConcurrentPerProcess: 2, maxWaitMs: 20');
  expect(await busy.begin()).toBe(null);
  expect(busy.waits).toMatchObject([{ channel: 'one', account: 'default', outcome: 'busy' }]);
  release();
  release();
  expect([busy.pool.inFlight, busy.pool.waiting]).toEqual([0, 0]);
});

test('with maxWaitMs: 0 nobody waits', async () => {
  const { busy } = await busyProcess('maxConcurrentPerProcess: 2, maxWaitMs: 0');
  expect(await busy.begin()).toBe(null);
  expect(busy.waits).toEqual([]);
});

test('a caller who leaves while waiting takes no slot', async () => {
  const { busy, release } = await busyProcess();
  const caller = new AbortController();
  const leaving = busy.begin(caller.signal);
  const staying = busy.begin();
  await waitFor(() => busy.pool.waiting === 2);
  caller.abort();
  expect(await leaving).toBe(null);
  release();
  (await staying)?.();
  release();
  expect([busy.pool.inFlight, busy.pool.waiting]).toEqual([0, 0]);
  expect(busy.waits.map(({ outcome }) => outcome)).toEqual(['left', 'served']);
});

test('only so many requests wait; the next one is refused at once', async () => {
  const { busy, release } = await busyProcess();
  const waiting = Array.from({ length: 1_000 }, () => busy.begin());
  await waitFor(() => busy.pool.waiting === 1_000);
  expect(await busy.begin()).toBe(null);
  expect(busy.waits).toMatchObject([{ outcome: 'busy' }]);
  release();
  release();
  for (const one of waiting) (await one)?.();
  expect([busy.pool.inFlight, busy.pool.waiting]).toEqual([0, 0]);
});
