import { pathToFileURL } from 'node:url';
import { everyNth } from '@gateway/testkit/is-long-run';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type RunningConsole, runConsole } from './run-console.ts';
import { seriousViolations } from './serious-violations.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 60_000;

let running: RunningConsole;
beforeAll(async () => {
  running = await runConsole(inject('chromiumPath'));
}, 300_000);
afterAll(() => running?.close());

async function openDocs(path: string, options = {}) {
  const opened = await running.open(options);
  opened.page.setDefaultTimeout(PATIENCE_MS);
  await opened.page.goto(path);
  return opened;
}

const found = (page: Page) => page.locator('#found').getByRole('link');
const isAsWideAsShown = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth');

test('the console leads to the documentation, which needs no sign-in', async () => {
  const { page, problems, signIn } = await running.open();
  page.setDefaultTimeout(PATIENCE_MS);
  await signIn();
  await page.goto('/console/keys');
  const tab = page.waitForEvent('popup');
  await page.getByRole('link', { name: 'Documentation' }).click();
  const docs = await tab;
  await docs.getByRole('heading', { level: 1, name: 'Documentation' }).waitFor();
  expect(docs.url()).toBe(`${running.url}/docs/`);
  expect(problems).toEqual([]);
});

test('every page of the menu opens under its policy, and says where one is', {
  timeout: 300_000,
}, async () => {
  const { page, problems } = await openDocs('/docs/');
  const addresses = await page.evaluate<string[]>(
    "[...document.querySelectorAll('#menu a')].map(({ href }) => href)",
  );
  expect(addresses.length).toBeGreaterThan(30);
  for (const address of addresses) {
    const answer = await page.goto(address);
    expect(answer?.status(), address).toBe(200);
    expect(await page.locator('nav a[aria-current=page]').getAttribute('href')).toBeTruthy();
    expect(await isAsWideAsShown(page), address).toBe(true);
  }
  expect(problems).toEqual([]);
});

test('the search finds a part of a page, by mouse and by keyboard', async () => {
  const { page, problems } = await openDocs('/docs/clouds/aws.html');
  await page.keyboard.press('/');
  await page.keyboard.type('idempotency keys');
  await page.getByRole('status').filter({ hasText: 'found' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/api.html#idempotency-keys');
  await page.getByRole('searchbox', { name: 'Search' }).fill('/admin/v1/keys/{id}');
  await found(page).filter({ hasText: 'PATCH' }).first().click();
  await page.waitForURL('**/docs/reference/admin-api.html#*');
  await page.getByRole('searchbox', { name: 'Search' }).fill('qqxxqq');
  await page.getByText('Nothing found for “qqxxqq”.').waitFor();
  await page.keyboard.press('Escape');
  expect(await page.locator('#found').isVisible()).toBe(false);
  expect(problems).toEqual([]);
});

const VIEWPORTS = [
  { width: 1400, height: 900 },
  { width: 360, height: 740 },
];
test.for(['light', 'dark'] as const)(
  'pages are accessible, in %s colours, wide and on a phone',
  { timeout: 600_000 },
  async (colorScheme) => {
    for (const viewport of everyNth(VIEWPORTS, VIEWPORTS.length, colorScheme === 'dark' ? 1 : 0)) {
      const { page, problems } = await openDocs('/docs/', { viewport, colorScheme });
      for (const path of ['index.html', 'local-models.html', 'redis.html']) {
        await page.goto(`/docs/${path}`);
        expect(await seriousViolations(page), `${path} at ${viewport.width}`).toEqual([]);
        expect(await isAsWideAsShown(page), `${path} at ${viewport.width}`).toBe(true);
      }
      await page.getByRole('searchbox', { name: 'Search' }).fill('budget');
      await found(page).first().waitFor();
      expect(await seriousViolations(page)).toEqual([]);
      expect(problems).toEqual([]);
    }
  },
);

test('on a phone the menu is a tap away', async () => {
  const { page } = await openDocs('/docs/api.html', { viewport: { width: 360, height: 740 } });
  await page.getByRole('link', { name: 'Menu' }).click();
  await page
    .getByRole('navigation', { name: 'Pages' })
    .getByRole('link', { name: 'Redis', exact: true })
    .click();
  await page.getByRole('heading', { level: 1, name: 'Redis' }).waitFor();
});

test('colours that were chosen stay chosen', async () => {
  const { page } = await openDocs('/docs/', { colorScheme: 'light' });
  await page.getByRole('button', { name: 'Dark colours' }).click();
  await page.goto('/docs/redis.html');
  await page.locator('html[data-theme=dark]').waitFor();
  await page.getByRole('button', { name: 'Light colours' }).waitFor();
});

test('where several versions are hosted, one is chosen from their list', async () => {
  const { page } = await running.open();
  page.setDefaultTimeout(PATIENCE_MS);
  const body = `const versions = ${JSON.stringify([
    { name: 'Unreleased', href: '.' },
    { name: '0.0.9', href: 'clouds' },
  ])};`;
  await page.route('**/docs/versions.js', (route) => route.fulfill({ contentType: 'text/javascript', body }));
  await page.goto('/docs/redis.html');
  await page.getByRole('combobox', { name: 'Version' }).selectOption('0.0.9');
  await page.waitForURL('**/docs/clouds/index.html');
});

test('it can be read and searched from a disk', async () => {
  const { page, problems } = await running.open();
  page.setDefaultTimeout(PATIENCE_MS);
  const site = new URL('../../docs/site/', pathToFileURL(`${import.meta.dirname}/`));
  await page.goto(new URL('clouds/aws.html', site).href);
  await page.getByRole('searchbox', { name: 'Search' }).fill('rendezvous');
  await found(page).first().click();
  await page.waitForURL(/^file:.*rendezvous|^file:.*#affinity/);
  await page.getByRole('link', { name: 'Configuration', exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Configuration' }).waitFor();
  expect(problems.filter((problem) => !problem.includes('file:'))).toEqual([]);
});
