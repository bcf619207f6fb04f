import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { isReleaseDue } from './release-memory.ts';

const GROWN_PROCESS = new URL('../fixtures/grown-process.ts', import.meta.url).pathname;
const MEGABYTE = 1024 * 1024;

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Resolves with what the heap takes, in megabytes, when the process sends it. */
async function heapOf(child: ChildProcess): Promise<number> {
  const [bytes] = await once(child, 'message');
  return Number(bytes) / MEGABYTE;
}

test('a process that has become idle returns the memory that its load has taken', async () => {
  const child = fork(GROWN_PROCESS, { execArgv: ['--no-memory-reducer'] });
  children.push(child);
  expect(await heapOf(child)).toBeGreaterThan(60);
  const ask = () => {
    child.send('heap');
    return heapOf(child);
  };
  await expect.poll(ask, { timeout: 30_000, interval: 1000 }).toBeLessThan(30);
});

const grown = { utilization: 0.005, bytes: 100 * MEGABYTE, releasedBytes: 40 * MEGABYTE };

test.for([
  ['idle and has grown', {}, true],
  ['at work', { utilization: 0.05 }, false],
  ['as small as after the last time', { bytes: 60 * MEGABYTE }, false],
  ['so large that a request would wait for long', { bytes: 600 * MEGABYTE }, false],
] as const)('a process that is %s: does it release memory?', ([, use, isDue]) => {
  expect(isReleaseDue({ ...grown, ...use })).toBe(isDue);
});
