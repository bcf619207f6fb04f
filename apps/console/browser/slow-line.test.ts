import { everyNth } from '@gateway/testkit/is-long-run';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readBuild } from './build-console.ts';
import { measureOnSlowLine } from './measure-slow-line.ts';
import { type RunningConsole, runConsole } from './run-console.ts';
import { seed } from './seed.ts';

/** The page; then its scripts beside who is signed in and what it shows. Sums until this very moment are asked for by the scripts. */
const MAX_REQUESTS_AFTER_EACH_OTHER = { '/overview': 3, '/keys': 2, '/requests': 2, '/sessions': 2 } as const;
/** On a busy machine a request may begin after another one has ended without having waited for it. What does wait shows in every load: the shortest sequence counts. */
const MAX_LOADS = 5;
const MAX_BYTES = 300_000;
/** A button that becomes a pixel wider is no jump; what pages count as good is 0.1. */
const MAX_SHIFT = 0.001;
/** A browser has six connections to a server. */
const MAX_FILES = 15;

const PHONE = { width: 360, height: 740 };

let running: RunningConsole;
beforeAll(async () => {
  running = await runConsole(inject('chromiumPath'));
  await seed(running);
}, 300_000);
afterAll(() => running?.close());

test.for(['/overview', '/keys', '/requests', '/sessions'] as const)(
  'the content of %s comes after few requests that wait for each other',
  { timeout: 300_000 },
  async (path) => {
    const most = MAX_REQUESTS_AFTER_EACH_OTHER[path];
    let { chain, bytes } = await measureOnSlowLine(running, path);
    for (let loads = 1; loads < MAX_LOADS && chain.length > most; loads += 1)
      ({ chain, bytes } = await measureOnSlowLine(running, path));
    expect(chain.length, chain.join('\n')).toBeLessThanOrEqual(most);
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
  },
);

const STEADY = [
  ...(['/overview', '/keys', '/people', '/roles', '/jobs', '/channels'] as const),
  ...(['/configuration', '/audit', '/sessions'] as const),
];
/** In a short run every other page is wide, and the others are on a phone. */
const PART = 2;
test.for(everyNth(STEADY, PART))('nothing on %s moves while it loads', { timeout: 120_000 }, async (path) => {
  expect((await measureOnSlowLine(running, path)).shift).toBeLessThan(MAX_SHIFT);
});
// Cards of queues have as many lines on a phone as there is to say.
const STEADY_ON_PHONES = everyNth(STEADY, PART, 1).filter((path) => path !== '/jobs');
test.for(STEADY_ON_PHONES)(
  'nothing on %s moves while it loads on a phone',
  { timeout: 120_000 },
  async (path) => {
    const phone = { url: running.url, open: () => running.open({ viewport: PHONE }) };
    const { shift } = await measureOnSlowLine(phone, path);
    expect(shift).toBeLessThan(MAX_SHIFT);
  },
);

test('a page is few files', async () => {
  const built = await readBuild();
  for (const name of ['overview', 'keys', 'requests', 'people', 'sessions']) {
    const files = await built.loadedWith(`src/pages/${name}/${name}-page.tsx`);
    expect([...files.keys()].length, name).toBeLessThanOrEqual(MAX_FILES);
  }
});
