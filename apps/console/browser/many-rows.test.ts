import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type RunningConsole, runConsole } from './run-console.ts';
import { seedMany } from './seed-many.ts';

/** Twenty-one pages of the lists, and more keys than the admin service looks through for one answer. */
const COUNT = 2_100;
/** A screen's rows, and those that are kept ready above and below it. */
const MAX_DRAWN = 60;
const PATIENCE_MS = 60_000;

let running: RunningConsole;
beforeAll(async () => {
  running = await runConsole(inject('chromiumPath'));
  await seedMany(running, COUNT);
}, 300_000);
afterAll(() => running?.close());

test.for([
  ['/console/keys', 'Keys', 'program'],
  ['/console/requests', 'Requests', 'gpt-5.2'],
] as const)(
  '%s lists thousands, and draws those in view',
  { timeout: 300_000 },
  async ([path, label, text]) => {
    const { page, problems, signIn } = await running.open({ viewport: { width: 1280, height: 800 } });
    page.setDefaultTimeout(PATIENCE_MS);
    await signIn();
    await page.goto(path);
    const table = page.getByRole('table', { name: label });
    const listed = async () => Number(await table.getAttribute('aria-rowcount')) - 1;
    await table.getByRole('row').nth(1).waitFor();
    // A key that is pressed while the page still scrolls for the one before may be lost.
    const goToEnd = async <Seen>(see: () => Promise<Seen>): Promise<Seen> => {
      await page.keyboard.press('End');
      return see();
    };
    for (let before = 0; before < COUNT; before = await listed()) {
      await expect.poll(() => goToEnd(listed), { timeout: PATIENCE_MS }).toBeGreaterThan(before);
      expect(await table.getByRole('row').count()).toBeLessThanOrEqual(MAX_DRAWN);
    }
    const last = table.locator(`[aria-rowindex="${COUNT + 1}"]`).filter({ hasText: text });
    await expect.poll(() => goToEnd(() => last.count()), { timeout: PATIENCE_MS }).toBe(1);
    expect(problems).toEqual([]);
    await page.context().close();
  },
);

test('a key is found in the playground by its name, also the oldest of thousands', async () => {
  const { page, problems, signIn } = await running.open();
  page.setDefaultTimeout(PATIENCE_MS);
  await signIn();
  await page.goto('/console/playground');
  await page.getByRole('combobox', { name: 'Key' }).fill('program 0');
  await page.getByRole('option', { name: 'program 0', exact: true }).click();
  await page.waitForURL(/key=key_/);
  expect(problems).toEqual([]);
  await page.context().close();
});
