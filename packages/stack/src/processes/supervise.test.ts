import { waitFor } from '@gateway/testkit/wait-for';
import { afterEach, expect, test } from 'vitest';
import { type Running, type Supervised, supervise } from './supervise.ts';

/** A fake process that ends when the test says. */
function pretend(pid: number): Running {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { pid, ended: promise, kill: (signal) => resolve(`signal ${signal}`) };
}

const running: Supervised<Running>[] = [];
afterEach(() => {
  for (const supervised of running.splice(0)) supervised.end();
});

test.for([
  [true, '0.004 s'],
  [{ maxDelayMs: 2 }, '0.002 s'],
] as const)(
  'a restart that fails is tried again until it succeeds, with delays that grow (%j: to %s)',
  async ([restarts, last]) => {
    const reports: string[] = [];
    let starts = 0;
    const supervised = await supervise({
      name: 'it',
      start: async () => {
        starts++;
        if (starts > 1 && starts < 4) throw new Error(`no luck ${starts}`);
        return pretend(starts);
      },
      signal: new AbortController().signal,
      restarts,
      report: (line) => reports.push(line),
      firstDelayMs: 1,
    });
    running.push(supervised);
    supervised.current().kill('SIGKILL');
    await waitFor(() => supervised.current().pid === 4);
    expect(reports).toEqual([
      'it ended (signal SIGKILL); restarting in 0.001 s',
      'it ended (no luck 2); restarting in 0.002 s',
      `it ended (no luck 3); restarting in ${last}`,
      'it is running again',
    ]);
  },
);

test('a process that is stopped while it waits for its restart does not start', async () => {
  let starts = 0;
  const supervised = await supervise({
    name: 'it',
    start: async () => pretend(++starts),
    signal: new AbortController().signal,
    restarts: true,
    report: () => undefined,
    firstDelayMs: 100_000,
  });
  supervised.current().kill('SIGKILL');
  await supervised.current().ended;
  await supervised.stop(1000);
  expect(starts).toBe(1);
});
