import { readFile } from 'node:fs/promises';
import { freePort } from '@gateway/testkit/free-port';
import { startNginx } from '@gateway/testkit/start-nginx';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createIdentityProvider, type TestIdentityProvider } from './identity-provider.ts';
import { type RunningConsole, runConsole } from './run-console.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;

let identity: TestIdentityProvider;
let running: RunningConsole;
/** Where an nginx has the admin service: one takes the path off, the other leaves it. */
const addresses = { taking: '', leaving: '' };
const proxies = new AsyncDisposableStack();

beforeAll(async () => {
  identity = await createIdentityProvider();
  await identity.listen();
  const [taking, leaving] = [await freePort(), await freePort()];
  addresses.taking = `http://127.0.0.1:${taking}/gw`;
  addresses.leaving = `http://127.0.0.1:${leaving}/gw`;
  running = await runConsole(inject('chromiumPath'), () => identity.settingsFor(addresses.taking));
  const to = (url: string) =>
    `location /gw/ { proxy_pass ${url}; proxy_set_header Host $http_host; proxy_buffering off; }`;
  proxies.use(await startNginx({ port: taking, server: to(`${running.url}/`) }));
  proxies.use(await startNginx({ port: leaving, server: to(running.url) }));
}, 300_000);
afterAll(async () => {
  await proxies.disposeAsync();
  await running?.close();
  await identity?.close();
});

const heading = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { level: 1, name }).waitFor();

/** A page whose every request has to be below this address, but for those to the identity provider. */
async function openBelow(address: string) {
  const { page, problems } = await running.open({ baseURL: `${address}/` });
  page.setDefaultTimeout(PATIENCE_MS);
  return { page, problems: () => problems.filter((problem) => !problem.includes(identity.issuer)) };
}

test('below a path that the proxy takes off people sign in, go from page to page and download', async () => {
  const { page, problems } = await openBelow(addresses.taking);
  await page.goto('console/keys');
  await page.getByRole('link', { name: `Sign in with ${identity.name}` }).click();
  await page.getByLabel('Account').fill('ann');
  await page.getByRole('button', { name: 'Continue' }).click();
  await heading(page, 'Keys');
  expect(page.url()).toBe(`${addresses.taking}/console/keys`);
  const cookies = await page.context().cookies(`${addresses.taking}/admin`);
  const session = cookies.find(({ name }) => name === 'gateway_session');
  expect(session).toMatchObject({ httpOnly: true, path: '/gw/admin' });

  const links = page.getByRole('navigation', { name: 'Pages' });
  for (const name of ['Requests', 'Models', 'Jobs', 'Usage']) {
    await links.getByRole('link', { name }).click();
    await heading(page, name);
    expect(page.url()).toContain(`${addresses.taking}/console/`);
  }
  await page.reload();
  await heading(page, 'Usage');
  const ofAnother = JSON.stringify([{ name: 'of the gateway at the root', search: {} }]);
  await page.evaluate((views) => localStorage.setItem('gateway-views /usage', views), ofAnother);
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('menuitem', { name: 'Save this view' }).waitFor();
  expect(await page.getByRole('menuitem', { name: 'of the gateway at the root' }).count()).toBe(0);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Export' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: 'CSV', exact: true }).click();
  expect(await readFile(await (await download).path(), 'utf8')).toMatch(/^[a-z_A-Z]+,/);
  expect(problems()).toEqual([]);
  await page.context().close();
});

test('below a path that the proxy leaves the token opens the pages', async () => {
  const { page, problems } = await openBelow(addresses.leaving);
  await page.goto('');
  await page.getByLabel('Admin token').fill(running.stack.adminToken);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await heading(page, 'Overview');
  expect(page.url()).toContain(`${addresses.leaving}/console/`);
  expect(problems()).toEqual([]);
  await page.context().close();
});
