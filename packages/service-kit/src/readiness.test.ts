import type { ReadinessReport } from '@gateway/contracts/readiness';
import { expect, test, vi } from 'vitest';
import { createReadiness } from './readiness.ts';

/** Only ends a test that would hang. */
const PATIENT = { timeout: 20_000 };

/** Follows the reports, as an edge does. */
function follow(readiness: ReturnType<typeof createReadiness>) {
  const reports: ReadinessReport[] = [];
  const unwatch = readiness.watch((report) => reports.push(report));
  return { reports, unwatch };
}

test('a watcher gets what is missing, again and again, and each change', async () => {
  const readiness = createReadiness();
  const { reports, unwatch } = follow(readiness);
  await vi.waitUntil(() => reports.at(-1)?.status === 'unready', PATIENT);
  let isThere = false;
  readiness.check('redis', () => isThere);
  readiness.open();
  await vi.waitUntil(() => reports.at(-1)?.missing[0] === 'redis', PATIENT);
  const before = reports.length;
  await vi.waitUntil(() => reports.length > before + 1, PATIENT);
  isThere = true;
  await vi.waitUntil(() => reports.at(-1)?.status === 'ok', PATIENT);
  unwatch();
});

test('a process that stops notifies its watchers at once, and waits until the last of them has gone', async () => {
  const readiness = createReadiness();
  readiness.open();
  const [one, other] = [follow(readiness), follow(readiness)];
  let closed: boolean | undefined;
  const closing = readiness.close().then((watched) => {
    closed = watched;
  });
  expect([one, other].map(({ reports }) => reports.at(-1)?.status)).toEqual(['stopping', 'stopping']);
  one.unwatch();
  await new Promise(setImmediate);
  expect(closed).toBeUndefined();
  other.unwatch();
  await closing;
  expect(closed).toBe(true);
});

test('a process that nobody watches stops at once', async () => {
  const readiness = createReadiness();
  readiness.open();
  expect(await readiness.close()).toBe(false);
  expect(await readiness.report()).toEqual({ status: 'stopping', missing: ['serving'] });
});
