import { expect, test } from 'vitest';
import { startSweeping } from './start-sweeping.ts';

const HOUR_MS = 3_600_000;

test('assets outlive every URL that was given out for them, uploads every job', async () => {
  const cutoffs: Record<string, number> = {};
  const remember = (name: string) => ({
    sweep: async (olderThanMs: number) => {
      cutoffs[name] = olderThanMs;
      return 0;
    },
  });
  const now = 1_800_000_000_000;
  const sweeping = startSweeping({
    results: { sweep: async () => 0 },
    assets: remember('assets'),
    uploads: remember('uploads'),
    now: () => now,
    onSwept: () => undefined,
    onError: () => undefined,
  });
  sweeping.close();
  // A result is kept for a day, and a URL that is made at its end is valid for an hour; a job may wait for a day.
  expect(cutoffs.assets).toBeLessThan(now - 25 * HOUR_MS);
  expect(cutoffs.uploads).toBeLessThan(now - 25 * HOUR_MS);
});

test('a sweep that fails is reported and tried again', async () => {
  const reported: unknown[] = [];
  const failed = new Error('no disk');
  const sweep = () => Promise.reject(failed);
  const sweeping = startSweeping({
    results: { sweep },
    assets: { sweep },
    uploads: { sweep },
    now: Date.now,
    onSwept: () => undefined,
    onError: (error) => reported.push(error),
  });
  sweeping.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(reported).toEqual([failed, failed, failed]);
});

test('deleted files are reported, an empty sweep is not', async () => {
  const reported: unknown[] = [];
  startSweeping({
    results: { sweep: async () => 2 },
    assets: { sweep: async () => 0 },
    uploads: { sweep: async () => 1 },
    now: Date.now,
    onSwept: (counts) => reported.push(counts),
    onError: (error) => reported.push(error),
  }).close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(reported).toEqual([{ results: 2 }, { uploads: 1 }]);
});
