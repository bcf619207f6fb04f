import { expect, test } from 'vitest';
import { createProcessLoad } from './process-load.ts';

/** Keeps the event loop busy, so long at each turn, until the load is measured as the test expects. */
async function busyUntil(turnMs: number, holds: () => boolean): Promise<void> {
  for (;;) {
    const end = performance.now() + turnMs;
    while (performance.now() < end);
    if (holds()) return;
    await new Promise(setImmediate);
  }
}

test('an event loop that is late at every turn is measured as late, and forgotten at rest', async () => {
  const load = createProcessLoad();
  expect(load.eventLoopDelayMs()).toBe(0);
  await busyUntil(60, () => load.eventLoopDelayMs() > 20);
  load.rest();
  expect(load.eventLoopDelayMs()).toBe(0);
  load.rest();
});
