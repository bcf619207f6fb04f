import { isLongRun } from '@gateway/testkit/is-long-run';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { type OpenPage, type RunningConsole, runConsole } from './run-console.ts';
import { seed } from './seed.ts';
import { seriousViolations, showIn } from './serious-violations.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;
const TOUR_MS = 600_000;
const DESKTOP = { width: 1280, height: 720 };
const PHONE = { width: 360, height: 740 };

type Look = readonly [scheme: 'light' | 'dark', rules?: readonly string[]];
/** The colours are all that differs in the dark. */
const LOOKS: readonly Look[] = [['light'], ['dark', ['color-contrast']]];

/** In a short run every other page is looked at in the dark: those beside it have the same parts. */
const looksOf = (at: number): readonly Look[] => (isLongRun ? LOOKS : LOOKS.slice(0, 1 + (at % 2)));

const PAGES = [
  '/console/keys',
  '/console/keys?new=true',
  '/console/overview',
  '/console/overview?by=all&range=7d',
  '/console/overview?range=15m',
  '/console/requests',
  '/console/requests?failed=true&endUser=ann&minTotalMs=10&attemptOutcome=rate-limited&from=2026-01-01T08:00:00Z',
  '/console/usage?groupBy=keyId,model&show=requests',
  '/console/playground',
  '/console/playground?family=images',
  '/console/playground?family=speech',
  '/console/playground?family=transcription',
  '/console/playground?family=voice',
  '/console/keys?sort=spend',
  '/console/teams',
  '/console/teams/platform',
  '/console/people',
  '/console/people?new=true',
  '/console/people?groups=true',
  '/console/roles',
  '/console/channels',
  '/console/channels/openai',
  '/console/channels/local?by=team',
  '/console/models',
  '/console/models?model=gpt-5.2',
  '/console/models/gpt-5.2?range=24h',
  '/console/models/claude-*',
  '/console/sessions',
  '/console/jobs',
  '/console/jobs?status=completed',
  '/console/alerts',
  '/console/webhooks',
  '/console/audit',
  '/console/configuration',
  '/console/configuration?view=check',
  '/console/configuration?view=edit',
];

let running: RunningConsole;
/** The pages with something open beside their list. */
let opened: string[];
let keyPage: string;
let person: OpenPage;

beforeAll(async () => {
  running = await runConsole(inject('chromiumPath'));
  const { keyId, requestId, jobId, batchId, personId } = await seed(running);
  keyPage = `/console/keys/${keyId}`;
  opened = [
    `keys?key=${keyId}`,
    `requests?request=${requestId}`,
    `jobs?job=${jobId}`,
    `jobs?job=${batchId}`,
    `people?person=${personId}`,
  ].map((path) => `/console/${path}`);
}, 300_000);
afterAll(() => running?.close());
beforeEach(async () => {
  person = await running.open();
  person.page.setDefaultTimeout(PATIENCE_MS);
  await person.signIn();
});
afterEach(async () => {
  // Errors of scripts, what the page's policy forbids, requests to other servers.
  expect(person.problems).toEqual([]);
  await person.page.context().close();
});

test('axe finds nothing serious on any page, light or dark, and each fits a screen of 360 pixels', {
  timeout: TOUR_MS,
}, async () => {
  const { page } = person;
  const found: unknown[] = [];
  const width = () => page.evaluate('document.documentElement.scrollWidth');
  for (const [at, path] of [...PAGES, keyPage, ...opened].entries()) {
    await page.setViewportSize(DESKTOP);
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const dialog = page.getByRole('dialog');
    const shown = dialog.getByLabel(/^(?:Key|Job|Request) ID$/).or(dialog.getByText('E-mail address'));
    if (opened.includes(path)) await shown.waitFor();
    await page.waitForLoadState('networkidle');
    for (const [colorScheme, rules] of looksOf(at)) {
      await showIn(page, colorScheme);
      for (const violation of await seriousViolations(page, rules))
        found.push({ path, colorScheme, ...violation });
    }
    await page.setViewportSize(PHONE);
    // Charts are drawn again for the new width.
    await expect.poll(width, { timeout: PATIENCE_MS, message: path }).toBe(PHONE.width);
  }
  expect(found).toEqual([]);
});
