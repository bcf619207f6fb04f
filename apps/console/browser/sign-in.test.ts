import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { createIdentityProvider, type TestIdentityProvider } from './identity-provider.ts';
import { type OpenPage, type RunningConsole, runConsole } from './run-console.ts';
import { seriousViolations, showIn } from './serious-violations.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;

const Made = z.looseObject({ id: z.string(), key: z.string() });
type Made = z.infer<typeof Made>;

let identity: TestIdentityProvider;
let running: RunningConsole;
let mine: Made;
let foreign: Made;
let person: OpenPage;

const make = async (body: object): Promise<Made> => Made.parse(await running.call('POST', '/keys', body));

beforeAll(async () => {
  identity = await createIdentityProvider();
  await identity.listen();
  running = await runConsole(inject('chromiumPath'), identity.settingsFor);
  for (const name of ['search', 'other']) await running.call('POST', '/teams', { name });
  mine = await make({
    ...{ name: 'search engine', team: 'search', models: ['gpt-*'] },
    ...{ budget: { usd: 20, period: 'month' } },
  });
  foreign = await make({ name: 'foreign program', team: 'other' });
}, 300_000);
afterAll(async () => {
  await running?.close();
  await identity?.close();
});
beforeEach(async () => {
  person = await running.open();
  person.page.setDefaultTimeout(PATIENCE_MS);
});
afterEach(async () => {
  // The identity provider is the one other server that a browser is led to.
  expect(person.problems.filter((problem) => !problem.includes(identity.issuer))).toEqual([]);
  await person.page.context().close();
});

/** Signs in at the identity provider, from the page that was asked for. */
async function signInAs(page: Page, account: string, path = '/console/'): Promise<void> {
  await page.goto(path);
  await page.getByRole('link', { name: `Sign in with ${identity.name}` }).click();
  await page.getByLabel('Account').fill(account);
  await page.getByRole('button', { name: 'Continue' }).click();
}

const heading = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { level: 1, name }).waitFor();

/** Makes a call with the browser's own cookies, as a person could who does without the pages. */
async function callAs(page: Page, method: string, path: string, data?: unknown): Promise<number> {
  const reply = await page.context().request.fetch(`/admin/v1${path}`, {
    method,
    headers: { origin: running.url },
    ...(data !== undefined && { data }),
  });
  return reply.status();
}

const sessionCookie = async (page: Page) =>
  (await page.context().cookies(`${running.url}/admin`)).find(({ name }) => name === 'gateway_session');

const pageNames = (page: Page): Promise<string[]> =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents();

test('the identity provider signs in an admin, who lands on the page that was asked for', async () => {
  const { page } = person;
  await signInAs(page, 'ann', '/console/models?kind=text');
  await heading(page, 'Models');
  expect(page.url()).toBe(`${running.url}/console/models?kind=text`);
  expect(await sessionCookie(page)).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/admin' });
  await page.goto('/console/sessions');
  const row = page.getByRole('row').filter({ hasText: 'ann@example.com' });
  await row.getByText('with the identity provider').waitFor();
  expect(await pageNames(page)).toContain('Configuration');
  expect(await callAs(page, 'GET', '/sessions')).toBe(200);
});

test('a session that ended goes on after a sign-in at the identity provider in another tab', async () => {
  const { page } = person;
  await signInAs(page, 'ann', '/console/teams');
  await page.getByRole('button', { name: 'New team' }).click();
  await page.getByLabel('Name').fill('typed before');
  await page.context().clearCookies({ name: 'gateway_session' });
  // The page may have noticed it by itself, and is then behind the dialog.
  await page.getByRole('button', { name: 'Create team' }).dispatchEvent('click');
  const beside = page.context().waitForEvent('page');
  await page.getByRole('link', { name: `Sign in with ${identity.name}` }).click();
  await (await beside).getByText('You are signed in').waitFor();
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor({ state: 'detached' });
  expect(await page.getByLabel('Name').inputValue()).toBe('typed before');
});

test('a viewer sees every key and is offered no change, nor gets one without the pages', async () => {
  const { page } = person;
  await signInAs(page, 'vera', `/console/keys?key=${foreign.id}`);
  await page.getByRole('dialog').getByText(foreign.id).waitFor();
  expect(await page.getByRole('button', { name: /^(New key|Edit|Disable|Rotate|Revoke)/ }).count()).toBe(0);
  expect(await pageNames(page)).not.toContain('Sessions');
  expect(await callAs(page, 'DELETE', `/keys/${foreign.id}`)).toBe(403);
  expect(await callAs(page, 'POST', '/teams', { name: 'mine' })).toBe(403);
});

test('a team lead makes and disables keys of the own team, and no other key exists', async () => {
  const { page } = person;
  await signInAs(page, 'leo', '/console/keys');
  await page.getByRole('row').filter({ hasText: 'search engine' }).waitFor();
  expect(await page.getByText('foreign program').count()).toBe(0);
  const pages = [
    'Overview',
    'Requests',
    'Usage',
    'Playground',
    'Keys',
    'Teams',
    'People',
    'Roles',
    'Models',
    'Jobs',
  ];
  expect(await pageNames(page)).toEqual(pages);

  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill("a lead's key");
  expect(await page.getByLabel('Priority').count()).toBe(0);
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByRole('row').filter({ hasText: "a lead's key" }).getByRole('button').click();
  const drawer = page.getByRole('dialog').first();
  await drawer.getByText('search', { exact: true }).waitFor();
  await drawer.getByRole('button', { name: 'Disable' }).click();
  await drawer.getByRole('button', { name: 'Enable' }).waitFor();

  await page.goto('/console/teams');
  await page.getByRole('row').filter({ hasText: 'search' }).waitFor();
  expect(await page.getByRole('button', { name: 'New team' }).count()).toBe(0);
  await page.goto('/console/audit');
  await page.getByText('Page not found').waitFor();

  expect(await callAs(page, 'PATCH', `/keys/${foreign.id}`, { disabled: true })).toBe(404);
  expect(await callAs(page, 'GET', `/keys/${foreign.id}/balance`)).toBe(404);
  expect(await callAs(page, 'PATCH', `/keys/${mine.id}`, { team: 'other' })).toBe(400);
  expect(await callAs(page, 'PATCH', '/teams/search', { budget: null })).toBe(403);
  expect(await callAs(page, 'GET', '/audit')).toBe(403);
});

test('a key signs its holder in to what is left of it, until it is disabled', async () => {
  const { page } = person;
  const reply = await fetch(`${running.stack.edgeUrl}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${mine.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5.2', input: 'Say hello.' }),
  });
  expect(reply.status).toBe(200);
  await page.goto('/console/');
  await page.getByText('Key', { exact: true }).click();
  await page.getByLabel('Your key').fill('gwk_mistyped');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('alert').getByText('This is not a key').waitFor();
  await page.getByLabel('Your key').fill(mine.key);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await heading(page, 'search engine');
  await page.getByRole('region', { name: 'Remaining' }).getByText('$20.00 of $20 per month left').waitFor();
  await page.getByRole('region', { name: 'Models' }).getByText('$1.25 in, $10 out').waitFor();
  await page.getByRole('table', { name: 'Latest requests' }).getByText('gpt-5.2').waitFor();
  expect(await pageNames(page)).toEqual(['My key', 'Requests', 'Usage', 'Playground', 'Models']);
  expect(await page.content()).not.toContain(mine.key);
  await page.getByRole('link', { name: 'Try it in the playground' }).click();
  await heading(page, 'Playground');
  await page.goto('/console/keys');
  await page.getByText('Page not found').waitFor();

  expect(await callAs(page, 'GET', `/keys/${mine.id}`)).toBe(200);
  expect(await callAs(page, 'GET', `/keys/${foreign.id}`)).toBe(404);
  expect(await callAs(page, 'POST', `/keys/${mine.id}/rotate`, {})).toBe(403);
  expect(await callAs(page, 'GET', '/channels')).toBe(403);

  await running.call('PATCH', `/keys/${mine.id}`, { disabled: true });
  await page.goto('/console/my-key');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await running.call('PATCH', `/keys/${mine.id}`, { disabled: false });
});

test('axe finds nothing serious on the sign-in page and on that of a key, which fit a phone', async () => {
  const { page } = person;
  await page.setViewportSize({ width: 360, height: 740 });
  const check = async () => {
    await page.waitForLoadState('networkidle');
    for (const colorScheme of ['light', 'dark'] as const) {
      await showIn(page, colorScheme);
      expect(await seriousViolations(page)).toEqual([]);
    }
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  };
  await page.goto('/console/sign-in?problem=refused');
  await page.getByRole('link', { name: `Sign in with ${identity.name}` }).waitFor();
  await check();
  await callAs(page, 'POST', '/session', { key: mine.key });
  await page.goto('/console/');
  await heading(page, 'search engine');
  await check();
});

test('somebody without a role is told so, and has no session', async () => {
  const { page } = person;
  await signInAs(page, 'guest');
  await page.getByRole('alert').getByText('you have no role here').waitFor();
  expect(await sessionCookie(page)).toBeUndefined();
  expect(await callAs(page, 'GET', '/keys')).toBe(401);
});

const CALLBACK = '/admin/v1/session/oidc/callback';

test('a way back that this browser has not begun signs nobody in', async () => {
  const { page } = person;
  await page.goto(`${CALLBACK}?code=stolen&state=made-up`);
  await page.getByRole('alert').getByText('was started in another browser').waitFor();
  expect(await sessionCookie(page)).toBeUndefined();
});

/** Begins to sign in, and stops the browser where it would be sent back. */
async function wayBack(page: Page): Promise<URL> {
  const back = identity.stopNext();
  await signInAs(page, 'ann');
  await page.getByText('stopped').waitFor();
  return back;
}

test('a forged state signs nobody in, with the right code and in the right browser', async () => {
  const { page } = person;
  const back = await wayBack(page);
  back.searchParams.set('state', 'forged');
  await page.goto(back.href);
  await page.getByRole('alert').getByText('was started in another browser').waitFor();
  expect(await sessionCookie(page)).toBeUndefined();
});

test("a code is worth nothing in another person's browser, and nothing a second time", async () => {
  const { page } = person;
  const back = await wayBack(page);
  const flow = (await page.context().cookies(back.href)).filter(({ name }) => name === 'gateway_oidc');
  expect(flow).toMatchObject([{ httpOnly: true, sameSite: 'Lax' }]);

  const other = await running.open();
  await other.page.goto(back.href);
  await other.page.getByRole('alert').getByText('was started in another browser').waitFor();

  await page.goto(back.href);
  await heading(page, 'Overview');
  await other.page.context().addCookies(flow);
  await other.page.goto(back.href);
  await other.page.getByRole('alert').getByText('did not confirm the sign-in').waitFor();
  expect(await sessionCookie(other.page)).toBeUndefined();
  await other.page.context().close();
});

test('while the identity provider does not answer the page says so, and the token works', async () => {
  const { page } = person;
  const back = await wayBack(page);
  await identity.close();
  try {
    await page.goto(back.href);
    await page.getByRole('alert').getByText('is not responding').waitFor();
    await page.getByLabel('Admin token').fill(running.stack.adminToken);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await heading(page, 'Overview');
  } finally {
    await identity.listen();
  }
});

test('nobody is sent to another server after the sign-in', async () => {
  const { page } = person;
  const begin = (to: string) =>
    page.context().request.get(`/admin/v1/session/oidc?to=${encodeURIComponent(to)}`, { maxRedirects: 0 });
  expect((await begin('https://evil.example')).status()).toBe(400);
  expect((await begin('/models')).status()).toBe(303);
  await page.goto(`/console/sign-in?to=${encodeURIComponent('//evil.example/')}`);
  await page.getByRole('link', { name: `Sign in with ${identity.name}` }).click();
  await page.getByLabel('Account').fill('ann');
  await page.getByRole('button', { name: 'Continue' }).click();
  await heading(page, 'Overview');
  expect(new URL(page.url()).origin).toBe(running.url);
});

test('neither codes nor the secret of the client stand in the log', async () => {
  const { page } = person;
  const back = await wayBack(page);
  await page.goto(back.href);
  await heading(page, 'Overview');
  const written = running.lines.join('\n');
  expect(written).toContain('signed in');
  const code = back.searchParams.get('code') ?? '';
  expect(code.length).toBeGreaterThan(20);
  for (const secret of [code, identity.clientSecret, mine.key]) expect(written).not.toContain(secret);
  const metrics = await (await fetch(`${running.url}/metrics`)).text();
  expect(metrics).toMatch(/gateway_console_sign_ins_total\{[^}]*method="oidc"[^}]*outcome="ok"[^}]*\} [1-9]/);
});
