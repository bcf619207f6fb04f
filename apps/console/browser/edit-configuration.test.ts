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
  await person.signIn();
});
afterEach(async () => {
  // Errors of scripts, what the page's policy forbids, requests to other servers.
  expect(person.problems).toEqual([]);
  await person.page.context().close();
});

test('a draft is edited by forms and as text, and becomes a diff for the file', async () => {
  const { page } = person;
  await page.goto('/console/configuration?view=edit');
  await page.getByRole('button', { name: /^gpt-5\.2/ }).click();
  const form = page.getByRole('dialog');
  await form.getByRole('group', { name: 'Route 2' }).getByLabel('Weight').fill('50');
  await form.getByLabel('Output price').fill('9.5');
  await form.getByRole('button', { name: 'Add a route' }).click();
  const route = form.getByRole('group', { name: 'Route 3' });
  await route.getByRole('combobox', { name: 'Channel' }).click();
  await page.getByRole('option', { name: 'claude' }).click();
  await route.getByLabel("Channel's own name of it").fill('claude-opus-5');
  await form.getByRole('button', { name: 'Change the draft' }).click();
  await form.waitFor({ state: 'detached' });

  await page.getByText('Changes (3)').click();
  for (const words of [
    'Model gpt-5.2: price.outputPerMTok 10 → 9.5',
    'Route of gpt-5.2 at local: weight set to 50',
    'Route of gpt-5.2 at claude added { model: claude-opus-5 }',
  ])
    await page.getByText(words).waitFor();
  const diff = page.getByLabel('Diff');
  await diff.getByText('+      - { channel: local, model: big-model, priority: 1, weight: 50 }').waitFor();

  await page.getByText('Text', { exact: true }).click();
  const editor = page.getByLabel('Draft of the configuration');
  expect(await editor.textContent()).not.toContain('three');
  await editor.fill('channels: {}\nmodels:\n  one: { kind: text, routes: [{ channel: nowhere }] }\n');
  await page.getByText(/models\.one\.routes\[0\]\.channel: found/).waitFor();
  expect(await page.getByRole('button', { name: 'Copy the diff' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByText('Changes', { exact: true }).click();
  await page.getByText('No changes yet.').waitFor();
});

test('a new model is one of the draft, and a name that is taken is refused', async () => {
  const { page } = person;
  await page.goto('/console/configuration?view=edit');
  await page.getByRole('button', { name: 'New model' }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Name', { exact: false }).first().fill('in-house');
  await form.getByText('There is a model of this name.').waitFor();
  await form.getByLabel('Name', { exact: false }).first().fill('fast');
  await form.getByLabel('Input price', { exact: true }).fill('0.5');
  await form.getByRole('button', { name: 'Add to the draft' }).click();
  await page.getByRole('button', { name: /^fast/ }).waitFor();
  await page.getByText('Changes (1)').click();
  await page.getByText('Model fast added (text, at openai)').waitFor();
  await page.getByRole('button', { name: 'Copy the diff' }).waitFor();
});

test('a channel has its batches done by its provider, and models of every kind are added by the form', async () => {
  const { page } = person;
  await page.goto('/console/configuration?view=edit');
  await page.getByRole('button', { name: /^openai/ }).click();
  const channel = page.getByRole('dialog');
  await channel.getByRole('combobox', { name: 'Batches' }).click();
  await page.getByRole('option', { name: 'Sent whole to the provider' }).click();
  await channel.getByRole('button', { name: 'Change the draft' }).click();
  await channel.waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'New model' }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Name', { exact: false }).first().fill('sorter');
  await form.getByRole('combobox', { name: 'Kind' }).click();
  await page.getByRole('option', { name: 'Rerank' }).click();
  await form.getByLabel('Price of searches').fill('2');
  await form.getByRole('button', { name: 'Add to the draft' }).click();
  await page.getByText('Changes (2)').click();
  await page.getByLabel('Diff').getByText('rerank_search: 2').waitFor();
});
