import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { type OpenPage, type RunningConsole, runConsole } from './run-console.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;

let running: RunningConsole;
let person: OpenPage;

beforeAll(async () => {
  running = await runConsole(inject('chromiumPath'));
}, 300_000);
afterAll(() => running?.close());
beforeEach(async () => {
  person = await running.open();
  person.page.setDefaultTimeout(PATIENCE_MS);
});
afterEach(async () => {
  // Errors of scripts, what the page's policy forbids, requests to other servers.
  expect(person.problems).toEqual([]);
  await person.page.context().close();
});

test('a change is found by the name of what was changed, and shows what was there before', async () => {
  await running.call('POST', '/teams', { name: 'atlas', budget: { usd: 5, period: 'day' } });
  await running.call('PATCH', '/teams/atlas', { budget: { usd: 12, period: 'day' } });
  await running.call('POST', '/teams', { name: 'someone else' });
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/audit');
  await page.getByLabel('Find by what was changed').fill('ATLAS');
  await page.getByRole('combobox', { name: 'Action' }).click();
  await page.getByRole('option', { name: 'Team changed' }).click();
  await page.getByRole('row').filter({ hasText: 'someone else' }).waitFor({ state: 'detached' });
  await page.getByRole('row').filter({ hasText: 'atlas' }).getByRole('button').click();
  const details = page.getByRole('dialog');
  await details.getByText('budget.usd').waitFor();
  expect(await details.getByRole('deletion').allTextContents()).toEqual(['5']);
  expect(await details.getByRole('insertion').allTextContents()).toEqual(['12']);

  // The address holds the view, so a colleague who gets it sees the same.
  await page.goto(page.url());
  await page.getByRole('dialog').getByText('budget.usd').waitFor();
  expect(await page.getByRole('textbox', { name: 'Find by what was changed' }).inputValue()).toBe('ATLAS');
});

test('a pasted configuration is checked with the line of its mistake, which leads there', async () => {
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/configuration');
  await page.getByText('took effect').waitFor();
  await page.getByLabel('Configuration as loaded').getByText('gpt-5.2').first().waitFor();
  expect(await page.getByLabel('Configuration as loaded').textContent()).not.toContain('three');

  await page.getByRole('tab', { name: 'Check a change' }).click();
  const editor = page.getByLabel('Configuration to check');
  await editor.fill('models:\n  new-model: { kind: text, routes: [{ channel: nowhere }] }\nchannels: {}\n');
  await page.getByText(/models\.new-model\.routes\[0\]\.channel: found/).waitFor();
  await page.getByRole('button', { name: 'Line 2' }).click();
  await page.keyboard.press('Home');
  await page.keyboard.press('Shift+End');
  await page.keyboard.press('Delete');
  await page.getByText('new-model').waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Begin with what is loaded' }).click();
  await page.getByText('It is valid').waitFor();
  await page.getByText('3 channels, 5 models. To deploy it').waitFor();
});
