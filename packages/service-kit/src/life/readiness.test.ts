import { once } from 'node:events';
import { connect } from 'node:net';
import { READINESS_CHANGES_PATH, type ReadinessReport } from '@gateway/contracts/readiness';
import { afterEach, expect, test, vi } from 'vitest';
import { closeServers, serveAudio } from '../fixtures/serve-audio.ts';
import { createReadiness } from './readiness.ts';

afterEach(closeServers);

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

test('a watcher that has stopped reading does not hold up a process that stops', async () => {
  const { url, readiness } = await serveAudio({});
  // A report that is larger than what the connection takes without a reader.
  readiness.check('x'.repeat(32 * 1024 * 1024), () => false);
  readiness.open();
  const watcher = connect(Number(new URL(url).port), '127.0.0.1');
  watcher.write(`GET ${READINESS_CHANGES_PATH} HTTP/1.1\r\nhost: service\r\n\r\n`);
  await once(watcher, 'readable');
  expect(await readiness.close()).toBe(true);
  watcher.destroy();
});
