import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { SMTPServer } from 'smtp-server';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { createIdentityProvider, type TestIdentityProvider } from './identity-provider.ts';
import { type OpenPage, type RunningConsole, runConsole } from './run-console.ts';
import { seriousViolations, showIn } from './serious-violations.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;
const PASSWORD = 'rivers under seven lamps';

/** What the mail server got. */
const mails: { readonly to: readonly string[]; readonly text: string }[] = [];
const mailServer = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  onData: (stream, { envelope }, callback) => {
    text(stream).then((sent) => {
      mails.push({ to: envelope.rcptTo.map(({ address }) => address), text: sent });
      callback();
    }, callback);
  },
});

let identity: TestIdentityProvider;
let running: RunningConsole;
let admin: OpenPage;
let other: OpenPage;

beforeAll(async () => {
  identity = await createIdentityProvider();
  await identity.listen();
  await new Promise<void>((resolve) => mailServer.listen(0, '127.0.0.1', resolve));
  const address = mailServer.server.address();
  const mailPort = typeof address === 'object' ? address?.port : undefined;
  running = await runConsole(inject('chromiumPath'), (adminUrl) => ({
    ...identity.settingsFor(adminUrl),
    SMTP_URL: `smtp://127.0.0.1:${mailPort}`,
    WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8',
  }));
  for (const name of ['search', 'vision']) await running.call('POST', '/teams', { name });
}, 300_000);
afterAll(async () => {
  await running?.close();
  await identity?.close();
  await new Promise<void>((resolve) => mailServer.close(resolve));
});
beforeEach(async () => {
  [admin, other] = [await running.open(), await running.open()];
  for (const { page } of [admin, other]) page.setDefaultTimeout(PATIENCE_MS);
  await admin.signIn('root');
});
afterEach(async () => {
  for (const { page, problems } of [admin, other]) {
    // The identity provider is the one other server that a browser is led to.
    expect(problems.filter((problem) => !problem.includes(identity.issuer))).toEqual([]);
    await page.context().close();
  }
});

const Invited = z.looseObject({ id: z.string(), link: z.string() });

/** A person who has set a password, and is signed in on the page. */
async function joins(page: Page, person: object): Promise<string> {
  const { id, link } = Invited.parse(await running.call('POST', '/people', person));
  await page.goto(link);
  await page.getByRole('textbox', { name: 'Password', exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Set password and sign in' }).click();
  await page.getByRole('navigation').waitFor();
  return id;
}

const axeFinds = async (page: Page): Promise<unknown[]> => {
  const found: unknown[] = [];
  for (const scheme of ['light', 'dark'] as const) {
    await showIn(page, scheme);
    found.push(...(await seriousViolations(page)));
  }
  return found;
};

test('an admin invites a person, whose link sets a password and opens the pages of the role; disabled, the person is out', async () => {
  const { page } = admin;
  await page.goto('/console/people');
  await page.getByRole('button', { name: 'Invite person' }).click();
  const form = page.getByRole('dialog', { name: 'Invite a person' });
  await form.getByLabel('E-mail address').fill('ann@example.com');
  await form.getByLabel('Name').fill('Ann Lee');
  await form.getByLabel('Teams', { exact: true }).click();
  await page.getByRole('option', { name: 'search' }).click();
  await page.keyboard.press('Escape');
  await form.getByRole('button', { name: 'Create invitation' }).click();
  const dialog = page.getByRole('dialog', { name: 'Invitation for Ann Lee' });
  const link = (await dialog.getByLabel('Link', { exact: true }).textContent()) ?? '';
  expect(await axeFinds(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'I have copied it' }).click();

  await other.page.goto(link);
  await other.page.getByText('Hello Ann Lee').waitFor();
  expect(await axeFinds(other.page)).toEqual([]);
  await other.page.getByRole('textbox', { name: 'Password', exact: true }).fill('password1234');
  await other.page.getByRole('button', { name: 'Set password and sign in' }).click();
  await other.page.getByText('guessed first').waitFor();
  await other.page.getByRole('textbox', { name: 'Password', exact: true }).fill(PASSWORD);
  await other.page.getByRole('button', { name: 'Set password and sign in' }).click();
  const pages = other.page.getByRole('navigation').getByRole('link');
  await pages.first().waitFor();
  expect(await pages.allTextContents()).toEqual([
    ...['Overview', 'Requests', 'Usage', 'Keys', 'Teams', 'Roles', 'Models', 'Jobs'],
  ]);

  await page.getByRole('button', { name: /Ann Lee/ }).click();
  const panel = page.getByRole('dialog', { name: /Ann Lee/ });
  await panel.getByRole('button', { name: 'Disable' }).click();
  await page
    .getByRole('dialog', { name: 'Disable Ann Lee?' })
    .getByRole('button', { name: 'Disable' })
    .click();
  await panel.getByText('disabled').waitFor();
  await other.page.getByRole('link', { name: 'Teams' }).click();
  await other.page.getByText('Your session has ended').waitFor();
});

test('an invitation is sent by e-mail where an admin wants it, and its link works', async () => {
  const { page } = admin;
  await page.goto('/console/people?new=true');
  const form = page.getByRole('dialog', { name: 'Invite a person' });
  await form.getByLabel('E-mail address').fill('mia@example.com');
  await form.getByLabel('Name').fill('Mia Sand');
  await form.getByRole('combobox', { name: 'Role' }).click();
  await page.getByRole('option', { name: /^viewer/ }).click();
  await form.getByLabel('Send the link by e-mail').check();
  expect(await axeFinds(page)).toEqual([]);
  await form.getByRole('button', { name: 'Create invitation' }).click();
  const dialog = page.getByRole('dialog', { name: 'Invitation for Mia Sand' });
  await dialog.getByText('The link was sent to mia@example.com.').waitFor();
  const link = (await dialog.getByLabel('Link', { exact: true }).textContent()) ?? '';
  expect(await axeFinds(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Done' }).click();

  expect(mails.map(({ to }) => to)).toEqual([['mia@example.com']]);
  // Lines of mails are folded.
  expect(mails.at(0)?.text.replaceAll(/=\r\n/g, '').replaceAll('=3D', '=')).toContain(link);
  await other.page.goto(link);
  await other.page.getByText('Hello Mia Sand').waitFor();
});

test('a person signs in with the password, changes it, and the link works no more', async () => {
  const { page } = other;
  await joins(page, { email: 'ben@example.com', name: 'Ben', role: 'viewer' });
  await page.getByRole('button', { name: /^ben@example.com/ }).click();
  await page.getByRole('menuitem', { name: 'Password and sessions' }).click();
  const dialog = page.getByRole('dialog', { name: 'Password and sessions' });
  await dialog.getByLabel('Current password').fill(PASSWORD);
  await dialog.getByLabel('New password').fill('a kettle of quiet foxes');
  expect(await axeFinds(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Change password' }).click();
  await dialog.waitFor({ state: 'hidden' });

  await page.goto('/console/usage');
  await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
  await page.context().clearCookies();
  await page.goto('/console/usage');
  await page.getByLabel('E-mail address').fill('ben@example.com');
  await page.getByRole('textbox', { name: 'Password', exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByText('The e-mail address or the password is wrong.').waitFor();
  await page.getByRole('textbox', { name: 'Password', exact: true }).fill('a kettle of quiet foxes');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
});

test('a team lead sees and invites the people of the own team, as members', async () => {
  await running.call('POST', '/people', {
    ...{ email: 'vera@example.com', name: 'Vera', role: 'team-member', teams: ['vision'] },
  });
  const { page } = other;
  await joins(page, { email: 'lead@example.com', name: 'The lead', role: 'team-lead', teams: ['search'] });
  await page.goto('/console/people?new=true');
  const form = page.getByRole('dialog', { name: 'Invite a person' });
  await form.getByRole('combobox', { name: 'Role' }).click();
  expect(await page.getByRole('option').allTextContents()).toEqual(['team-member: looks at its teams']);
  await page.keyboard.press('Escape');
  await page.goto('/console/people');
  await page.getByText('The lead').waitFor();
  expect(await page.getByText('Vera').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Groups' }).count()).toBe(0);
  await page.getByRole('button', { name: /The lead/ }).click();
  await page.getByText('Only an admin can change this person.').waitFor();
});

test('an admin gives a group a role, sees what its people would be, and they are', async () => {
  const { page } = admin;
  await page.goto('/console/people?groups=true');
  const drawer = page.getByRole('dialog', { name: 'Groups of the identity provider' });
  await drawer.getByLabel('Group', { exact: true }).fill('visitors');
  await drawer.getByRole('combobox', { name: 'Role' }).click();
  await page.getByRole('option', { name: /^viewer/ }).click();
  await drawer.getByRole('button', { name: 'Save rule' }).click();
  await drawer.getByRole('button', { name: 'Remove the rule of visitors' }).waitFor();
  const preview = async (groups: string): Promise<void> => {
    await drawer.getByLabel('Groups of the person').fill(groups);
    await drawer.getByRole('button', { name: 'Preview' }).click();
  };
  await preview('visitors, others');
  await drawer.getByText('viewer, by visitors (set in the console).').waitFor();
  await preview('others');
  await drawer.getByText('No role: this person cannot sign in.').waitFor();
  expect(await axeFinds(page)).toEqual([]);

  const signIn = async (): Promise<void> => {
    await other.page.goto('/console/');
    await other.page.getByRole('link', { name: `Sign in with ${identity.name}` }).click();
    await other.page.getByLabel('Account').fill('guest');
    await other.page.getByRole('button', { name: 'Continue' }).click();
  };
  await signIn();
  await other.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  // Who is disabled here does not come in by the provider either.
  const guest = { email: 'guest@example.com', name: 'Guest', role: 'viewer' };
  const { id } = Invited.parse(await running.call('POST', '/people', guest));
  await running.call('PATCH', `/people/${id}`, { disabled: true });
  await other.page.context().clearCookies();
  await signIn();
  await other.page.getByText('You were disabled here.').waitFor();
});

test('the page of roles has what the table says, and finds an action by a word', async () => {
  const { page } = admin;
  await page.goto('/console/roles');
  const row = page.getByRole('row', { name: /Rotate|another secret|Issue/i }).first();
  await page.getByLabel('Search actions').fill('invite');
  await row.waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /Invite a person/ }).waitFor();
  expect(
    await page
      .getByRole('row', { name: /Invite a person/ })
      .getByRole('cell')
      .allTextContents(),
  ).toEqual([expect.stringContaining('Invite a person'), ...['yes', '–no', 'yes', '–no', '–no']]);
});
