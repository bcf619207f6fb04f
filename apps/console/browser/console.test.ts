import { createGate } from '@gateway/simulator/gate';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { type OpenPage, type RunningConsole, runConsole } from './run-console.ts';
import { seed } from './seed.ts';

declare module 'vitest' {
  interface ProvidedContext {
    chromiumPath: string | undefined;
  }
}

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;

const SessionsReply = z.looseObject({ data: z.array(z.looseObject({ id: z.string(), name: z.string() })) });

const UNAVAILABLE = { code: 'service_unavailable', message: 'Redis is not responding.', path: null };

let running: RunningConsole;
let person: OpenPage;

beforeAll(async () => {
  running = await runConsole(inject('chromiumPath'));
  await seed(running);
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

test('a wrong token is refused in words, and the right one leads to the page that was asked for', async () => {
  const { page } = person;
  await page.goto('/console/models?kind=text');
  // There are people with a password, which is what is asked for first.
  await page.getByText('Token', { exact: true }).click();
  await page.getByLabel('Admin token').fill('not-the-admin-token');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('This is not the admin token.').waitFor();
  await page.getByLabel('Admin token').fill(running.stack.adminToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
  expect(page.url()).toBe(`${running.url}/console/models?kind=text`);
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
});

test('a key is made in a form, its secret is shown once and works, and it is found by its owner', async () => {
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('a new program');
  await page.getByLabel('Owner').fill('carol');
  await page.getByLabel('Requests per minute').fill('30');
  await page.getByRole('button', { name: 'Create key' }).click();
  const secret = (await page.getByLabel('Secret', { exact: true }).textContent()) ?? '';
  expect(secret).toMatch(/^gwk_/);
  const models = await fetch(`${running.stack.edgeUrl}/v1/models`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  expect(models.status).toBe(200);
  await page.getByRole('tab', { name: 'Claude Code' }).click();
  await page.getByLabel('Settings for Claude Code').getByText(secret).waitFor();
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByLabel('Search keys').fill('carol');
  await page.getByRole('row').filter({ hasText: 'a new program' }).getByRole('button').click();
  await page.getByText('30 of 30 left').waitFor();
  expect(await page.content()).not.toContain(secret);
});

test('a mistake in the form is told beside its field', async () => {
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/keys?new=true');
  await page.getByLabel('Name').fill('late');
  await page.getByLabel('Expires').fill('2020-01-01T00:00');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByText("Invalid value for 'expiresAt': it is in the past.").first().waitFor();
});

test('a key that a search will select can be opened while the search is still under way', async () => {
  const { page, signIn } = person;
  const [found, answered] = [createGate(), createGate()];
  await running.call('POST', '/keys', { name: 'found at once' });
  await signIn();
  await page.route(/\/admin\/v1\/keys\?.*search=/, async (route) => {
    found.open();
    await answered.opened;
    await route.continue();
  });
  await page.goto('/console/keys');
  await page.getByLabel('Search keys').fill('at once');
  await found.opened;
  await page.getByRole('row').filter({ hasText: 'found at once' }).getByRole('button').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Edit' }).waitFor();
  answered.open();
  await page.getByRole('row').nth(1).filter({ hasText: 'found at once' }).waitFor();
});

test('a key is edited, rotated with grace, disabled and revoked by the one who types its name', async () => {
  const { page, signIn } = person;
  await running.call('POST', '/keys', { name: 'short-lived', limits: { tokensPerMinute: 10 } });
  await signIn();
  await page.goto('/console/keys');
  await page.getByLabel('Search keys').fill('short-lived');
  await page.getByRole('row').filter({ hasText: 'short-lived' }).getByRole('button').click();
  const drawer = page.getByRole('dialog').first();
  await drawer.getByRole('button', { name: 'Edit' }).click();
  await drawer.getByLabel('Tokens per minute').fill('');
  await drawer.getByLabel('Requests per minute').fill('7');
  await drawer.getByRole('button', { name: 'Save' }).click();
  await drawer.getByText('7 of 7 left').waitFor();
  expect(await drawer.getByText('Tokens per minute').count()).toBe(0);

  await drawer.getByRole('button', { name: 'Rotate secret' }).click();
  // Whether the old secret goes on working is the person's to say, who knows whether it has leaked.
  const rotate = page.getByRole('button', { name: 'Rotate', exact: true });
  expect(await rotate.isDisabled()).toBe(true);
  await page.getByRole('combobox', { name: 'Keep the old secret working?' }).click();
  await page.getByRole('option', { name: 'For one day' }).click();
  await rotate.click();
  await page.getByLabel('Secret', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await drawer.getByText('Old secret works until').waitFor();

  await drawer.getByRole('button', { name: 'Disable' }).click();
  await drawer.getByRole('button', { name: 'Enable' }).waitFor();

  await drawer.getByRole('button', { name: 'Revoke' }).click();
  const confirm = page.getByRole('dialog', { name: 'Revoke short-lived?' });
  expect(await confirm.getByRole('button', { name: 'Revoke' }).isDisabled()).toBe(true);
  await confirm.getByLabel('Type short-lived to confirm').fill('short-lived');
  await confirm.getByRole('button', { name: 'Revoke' }).click();
  await drawer.getByText('revoked', { exact: true }).waitFor();
});

test('a team is made with a budget, and deleted', async () => {
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/teams');
  await page.getByRole('button', { name: 'New team' }).click();
  await page.getByLabel('Name').fill('interns');
  await page.getByLabel('Budget', { exact: true }).fill('5');
  await page.getByRole('button', { name: 'Create team' }).click();
  await page.getByRole('row').filter({ hasText: 'interns' }).getByRole('button').click();
  await page.getByRole('dialog').getByText('$5 of $5 per month left').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog', { name: 'Delete interns?' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('row').filter({ hasText: 'interns' }).waitFor({ state: 'detached' });
});

test('a channel is put to rest with a reason and woken again', async () => {
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/channels');
  const channel = page.getByRole('region', { name: 'claude' });
  await channel.getByText('serving').waitFor();
  await channel.getByRole('button', { name: 'Rest' }).click();
  await page.getByLabel('Reason').fill('it is expensive today');
  await page.getByRole('dialog').getByRole('button', { name: 'Rest' }).click();
  await channel.getByText('it is expensive today').waitFor();
  await channel.getByText('resting, but still in use').waitFor();
  await channel.getByText('Requests for claude-* still go here, since no other channel serves it.').waitFor();
  await channel.getByRole('button', { name: 'Wake the whole channel' }).click();
  await channel.getByText('serving').waitFor();
});

test('a channel shows its failures by kind, and how long its requests took', async () => {
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/channels');
  const channel = page.getByRole('region', { name: 'openai' });
  await channel
    .getByText(/^rate-limited \d+$/)
    .first()
    .waitFor();
  await channel
    .getByText(/^p50 .+, p95 /)
    .first()
    .waitFor();
});

test('models are searched, and those without a price are shown by themselves', async () => {
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/models');
  await page.getByRole('checkbox', { name: /Without a price/ }).check();
  await page.getByRole('row').filter({ hasText: 'in-house' }).getByRole('button').click();
  await page.getByText('Its price is unknown.').waitFor();
});

test('the command palette opens pages by keyboard alone', async () => {
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/keys');
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Search pages').fill('chann');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Channels' }).waitFor();
});

const endSessionsOf = async (person: string): Promise<void> => {
  const { data } = SessionsReply.parse(await running.call('GET', '/sessions'));
  for (const { id, name } of data) if (name === person) await running.call('DELETE', `/sessions/${id}`);
};

test('a session that was ended leads back to the sign-in', async () => {
  const { page, signIn } = person;
  await signIn('dora');
  await page.goto('/console/keys');
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  await endSessionsOf('dora');
  await page.goto('/console/teams');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
});

test('a session that ends on an open page says why, and what was typed is saved after a new sign-in', async () => {
  const { page, signIn } = person;
  await signIn('erin');
  await page.goto('/console/keys?new=true');
  await page.getByLabel('Name').fill('typed before the end');
  await endSessionsOf('erin');
  // The page may have noticed it by itself, and is then behind the dialog.
  await page.getByRole('button', { name: 'Create key' }).dispatchEvent('click');
  const again = page.getByRole('dialog', { name: 'Your session has ended' });
  await again.getByText('it was ended in another window or by an admin').waitFor();
  await again.getByText('Token', { exact: true }).click();
  await again.getByLabel('Admin token').fill(running.stack.adminToken);
  await again.getByRole('button', { name: 'Sign in' }).click();
  await again.waitFor({ state: 'detached' });
  expect(await page.getByLabel('Name').inputValue()).toBe('typed before the end');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Secret', { exact: true }).waitFor();
});

test('what is opened closes by Back and by Escape, and the focus is where it was', async () => {
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/models');
  await page.goto('/console/keys');
  const row = page.getByRole('row').nth(1).getByRole('button');
  await row.click();
  await page.getByRole('dialog').getByLabel('Key ID', { exact: true }).waitFor();
  await page.goBack();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(page.url()).toBe(`${running.url}/console/keys`);

  await row.click();
  await page.getByRole('dialog').getByLabel('Key ID', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(page.url()).toBe(`${running.url}/console/keys`);
  const isInRow = () => page.evaluate('document.activeElement.closest("[role=row]") !== null');
  await expect.poll(isInRow, { timeout: PATIENCE_MS }).toBe(true);
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
});

test('what cannot be read is not stated, and shown as soon as it can be read', async () => {
  const { page, signIn } = person;
  await signIn();
  let away: RegExp | undefined = /./;
  await page.route(/\/admin\/v1\/(usage|attention)\b/, (route) =>
    away?.test(route.request().url())
      ? route.fulfill({ status: 503, json: { error: UNAVAILABLE } })
      : route.fallback(),
  );
  await page.goto('/console/channels');
  await page.getByRole('region', { name: 'openai' }).getByText('could not be read').first().waitFor();
  expect(await page.getByText('no answered requests').count()).toBe(0);
  await page.goto('/console/overview');
  await page.getByText('Redis is not responding.').first().waitFor();
  expect(await page.getByText('Nothing needs attention').count()).toBe(0);
  away = undefined;
  const figures = page.getByRole('region', { name: 'Requests', exact: true }).getByText(/^\d/).first();
  await figures.waitFor();
  await page.getByText('Redis is not responding.').first().waitFor({ state: 'detached' });
  // The charts alone.
  away = /groupBy=hour/;
  await page.reload();
  await figures.waitFor();
  await page.getByText('Redis is not responding.').waitFor();
});
