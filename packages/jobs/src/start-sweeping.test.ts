import { expect, test } from 'vitest';
import { startSweeping } from './start-sweeping.ts';

const HOUR_MS = 3_600_000;

test('assets outlive every URL that was given out for them, uploads every job', async () => {
  const asked: Record<string, number> = {};
  const remember = (name: string) => ({
    sweep: async (olderThanMs: number) => {
      asked[name] = olderThanMs;
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
  // A result is kept for a day, and a URL made of it at the end of that lives for an hour; a job may wait for a day.
  expect(asked.assets).toBeLessThan(now - 25 * HOUR_MS);
  expect(asked.uploads).toBeLessThan(now - 25 * HOUR_MS);
});

test('a sweep that fails is told and tried again, no more', async () => {
  const told: unknown[] = [];
  const failed = new Error('no disk');
  const sweep = () => Promise.reject(failed);
  const sweeping = startSweeping({
    results: { sweep },
    assets: { sweep },
    uploads: { sweep },
    now: Date.now,
    onSwept: () => undefined,
    onError: (error) => told.push(error),
  });
  sweeping.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual([failed, failed, failed]);
});

test('what was deleted is told, and nothing where nothing was', async () => {
  const told: unknown[] = [];
  startSweeping({
    results: { sweep: async () => 2 },
    assets: { sweep: async () => 0 },
    uploads: { sweep: async () => 1 },
    now: Date.now,
    onSwept: (counts) => told.push(counts),
    onError: (error) => told.push(error),
  }).close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual([{ results: 2 }, { uploads: 1 }]);
});
