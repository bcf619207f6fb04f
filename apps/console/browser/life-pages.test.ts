import { readFile } from 'node:fs/promises';
import { NOTHING_CONSUMED, type UsageRecord } from '@gateway/contracts/usage/usage-record';
import { dayOf, redisNames } from '@gateway/metering/redis-names';
import { createRedis } from '@gateway/redis/open-redis';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { type OpenPage, type RunningConsole, runConsole } from './run-console.ts';
import { seed } from './seed.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;
const HOUR_MS = 3_600_000;
/** Every other hour, more often than dots are drawn of a whole line. */
const LONE_POINTS = 60;

let running: RunningConsole;
let keyId: string;
let person: OpenPage;

beforeAll(async () => {
  running = await runConsole(inject('chromiumPath'));
  ({ keyId } = await seed(running));
  await seedLonePoints();
}, 300_000);
afterAll(() => running?.close());
beforeEach(async () => {
  person = await running.open();
  person.page.setDefaultTimeout(PATIENCE_MS);
  await person.signIn();
});
afterEach(async () => {
  expect(person.problems).toEqual([]);
  await person.page.context().close();
});

/** Of a model with a slash in its name, in a team that nobody has made, at a channel that is configured no more. */
async function seedLonePoints(): Promise<void> {
  const redis = createRedis(running.stack.redisUrl, 'request');
  await redis.connect();
  const nowMs = Date.now();
  for (let at = 1; at <= LONE_POINTS; at += 1) {
    const endMs = nowMs - 2 * at * HOUR_MS;
    const record: UsageRecord = {
      ...{ id: `lone-${at}`, keyId, team: 'ghosts', model: 'lab/odd model', endpoint: 'chat' },
      ...{ startedAtMs: endMs - 900, outcome: 'ok', channel: 'gone', attempts: 1 },
      ...{ durationMs: 900, firstByteMs: 100, estimated: false, costMicroUsd: 70_000 },
      consumption: { ...NOTHING_CONSUMED, inputTokens: 1000, cachedInputTokens: 250, outputTokens: 80 },
    };
    // A request that is recorded late stands at its end.
    await redis.xadd(redisNames.records(dayOf(nowMs)), '*', 'record', JSON.stringify(record));
  }
  await redis.quit();
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
const part = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

async function exported(page: Page): Promise<string> {
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export CSV' }).click();
  return readFile(await (await download).path(), 'utf8');
}

test('the names in a list of requests lead to the pages of the model, the channel, the key and the team', async () => {
  const { page } = person;
  await page.goto('/console/requests?outcome=ok&team=research');
  const row = () => page.getByRole('table', { name: 'Requests' }).getByRole('row').nth(1);
  for (const [link, path, title] of [
    ['gpt-5.2', '/models/gpt-5.2', 'gpt-5.2'],
    ['openai', '/channels/openai', 'openai'],
    ['support-bot', '/keys/key_', 'support-bot'],
    ['research', '/teams/research', 'research'],
  ] as const) {
    await row().getByRole('link', { name: link, exact: true }).click();
    await page.waitForURL((url) => url.pathname.startsWith(`/console${path}`));
    await heading(page, title);
    await page.getByText('Last used').waitFor();
    await part(page, 'Latest requests').getByRole('row').nth(1).waitFor();
    await page.goBack();
  }
});

test('the page of a team has its spend against the budget, its keys, its changes, and can change it', async () => {
  const { page } = person;
  await page.goto('/console/teams/research');
  await heading(page, 'research');
  const settings = part(page, 'Settings and limits');
  await settings.getByText(/the average of the last 7 days|The budget is spent/).waitFor();
  await settings.getByText(/of \$0.01 per day left/).waitFor();
  await part(page, 'Changes').getByText('Team created by').waitFor();
  await part(page, 'By key').getByRole('link', { name: 'support-bot' }).click();
  await heading(page, 'support-bot');
  await page.goBack();
  await page.getByRole('combobox', { name: 'Split by' }).click();
  await page.getByRole('option', { name: 'By model' }).click();
  await page.waitForURL(/by=model/);
  await part(page, 'Requests by model').waitFor();
  await part(page, 'By model')
    .getByRole('link', { name: /^View \d+ requests$/ })
    .first()
    .click();
  await page.waitForURL(/\/requests\?.*team=research/);
});

test('a team that nobody made, a model with a slash and a channel of before have pages of what was used', async () => {
  const { page } = person;
  await page.goto('/console/requests?team=ghosts');
  const row = page.getByRole('table', { name: 'Requests' }).getByRole('row').nth(1);
  await row.getByRole('link', { name: 'lab/odd model' }).click();
  await heading(page, 'lab/odd model');
  await part(page, 'Routes and price').getByText('The configuration has no such model.').waitFor();
  await part(page, 'Efficiency').getByText('25% of input tokens').waitFor();
  await page.reload();
  await part(page, 'By channel').getByRole('link', { name: 'gone' }).click();
  await heading(page, 'gone');
  await page.getByText('The configuration has no such channel.').waitFor();
  await page.getByRole('combobox', { name: 'Split by' }).click();
  await page.getByRole('option', { name: 'By team' }).click();
  await part(page, 'By team').getByRole('link', { name: 'ghosts' }).click();
  await heading(page, 'ghosts');
  await page.getByText('This team has no settings').waitFor();
});

test('single points of a line are seen, however many there are', async () => {
  const { page } = person;
  await page.goto('/console/models/lab%2Fodd%20model?range=7d');
  const chart = part(page, 'Total time, p95 by channel').getByRole('figure');
  await chart.waitFor();
  await expect.poll(() => chart.locator('circle').count(), { timeout: PATIENCE_MS }).toBeGreaterThan(50);
});

test('the page of a channel rests and wakes it, and says who serves what', async () => {
  const { page } = person;
  await page.goto('/console/channels');
  await page
    .getByRole('region', { name: 'claude' })
    .getByRole('link', { name: 'claude', exact: true })
    .click();
  await heading(page, 'claude');
  const settings = part(page, 'Accounts, models and attempts');
  await settings.getByRole('button', { name: 'Rest' }).click();
  await page.getByLabel('Reason').fill('a look at its page');
  await page.getByRole('dialog').getByRole('button', { name: 'Rest' }).click();
  await settings.getByText('a look at its page').waitFor();
  await settings.getByRole('button', { name: 'Wake the whole channel' }).click();
  await page.getByText('serving').waitFor();
  await page.reload();
  await part(page, 'Changes').getByText('Channel woken by').waitFor();
  await part(page, 'Changes').getByRole('link', { name: 'View all changes' }).click();
  await page.getByRole('button', { name: 'Remove: one subject' }).waitFor();
  const rows = page.getByRole('table', { name: 'Changes' }).getByRole('row');
  await expect.poll(() => rows.count(), { timeout: PATIENCE_MS }).toBe(3);
  await rows.nth(1).getByRole('link', { name: 'claude' }).click();
  await heading(page, 'claude');
});

test('a model of a pattern has the routes of that pattern', async () => {
  const { page } = person;
  await page.goto('/console/models/claude-anything-5');
  await heading(page, 'claude-anything-5');
  await part(page, 'Routes and price').getByText('claude-*').waitFor();
  await part(page, 'Routes and price').getByRole('link', { name: 'claude', exact: true }).waitFor();
});

test('keys are sorted by spend and by use, and exported in that order with names', async () => {
  const { page } = person;
  await page.goto('/console/keys');
  const table = page.getByRole('table', { name: 'Keys' });
  await table.getByRole('button', { name: 'Spend 30 d' }).click();
  await page.waitForURL(/sort=spend/);
  const first = () => table.getByRole('row').nth(1).textContent();
  await expect.poll(first, { timeout: PATIENCE_MS }).toContain('search');
  expect(await first()).toContain('$4.2');
  await table.getByRole('button', { name: 'Spend 30 d' }).click();
  await page.waitForURL(/isAscending=true/);
  await expect.poll(first, { timeout: PATIENCE_MS }).not.toContain('search');
  await table.getByRole('button', { name: 'Last used' }).click();
  await page.waitForURL(/sort=lastUsed/);
  await expect.poll(first, { timeout: PATIENCE_MS }).not.toContain('nightly-reports');
  const lines = (await exported(page)).trim().split('\r\n');
  expect(lines[0]).toMatch(/^Name,Key ID,Status,Team,Owner,/);
  expect(lines).toHaveLength(1 + 8);
  expect(lines.find((line) => line.startsWith('search,'))).toMatch(/,active,,ann,gpt-\* claude-\*/);
});

test('the palette finds a key, a team, a model, a channel and a person by name', async () => {
  const { page } = person;
  await page.goto('/console/audit');
  await heading(page, 'Audit');
  for (const [typed, found, title] of [
    ['nightly', 'nightly-reports', 'nightly-reports'],
    ['resear', 'research', 'research'],
    ['dall-e', 'dall-e-3', 'dall-e-3'],
    ['local', 'local', 'local'],
  ] as const) {
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Search pages').fill(typed);
    await page.getByRole('dialog').getByRole('button', { name: found }).first().click();
    await heading(page, title);
  }
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Search pages').fill('ann');
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^ann/ })
    .filter({ hasText: 'owns keys' })
    .click();
  await page.waitForURL(/\/keys\?search=ann/);
});

test.for([
  ['/console/teams', 'Team,Budget in USD,', 'platform,500,month,'],
  ['/console/models', 'Model,Configuration entry,', 'in-house,in-house,text,local'],
  ['/console/audit', 'When,Who,Action,', ',Key revoked,nightly-reports,key_'],
  ['/console/sessions', 'Who,Role,', 'ann,admin,with the admin token'],
  ['/console/jobs?status=completed', 'Job ID,Kind,Status,Model,Key,', ',dall-e-3,code-review,key_'],
] as const)('the table of %s is exported with names', async ([path, headers, line]) => {
  const { page } = person;
  await page.goto(path);
  const text = await exported(page);
  expect(text).toContain(headers);
  expect(text).toContain(line);
});
