import { once } from 'node:events';
import { copyFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Locator, Page } from 'playwright-core';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  onTestFinished,
  test,
} from 'vitest';
import { type OpenPage, type RunningConsole, runConsole } from './run-console.ts';
import { seriousViolations, showIn } from './serious-violations.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;
/** Axe looks at each step. */
const TOUR_MS = 600_000;
const KEY = 'sk-typed-in-the-console-0123456789';
const REFUSED = 'sk-invalid-0123456789abcdef';

let running: RunningConsole;
let person: OpenPage;

const useConsole = (options: Parameters<typeof runConsole>[2], env: Record<string, string> = {}) => {
  beforeAll(async () => {
    running = await runConsole(inject('chromiumPath'), () => env, options);
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
};

const stepOf = (page: Page, title: string): Locator =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: title, exact: true }) });

/** The step is looked at in both colours, and on a phone. */
async function lookAt(page: Page): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 720 });
  for (const [scheme, rules] of [
    ['light', undefined],
    ['dark', ['color-contrast']],
  ] as const) {
    await showIn(page, scheme);
    expect(await seriousViolations(page, rules)).toEqual([]);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  await page.setViewportSize({ width: 1280, height: 720 });
}

async function startNonsense(): Promise<string> {
  const server = createServer((_request, response) => response.end('<html>It works!</html>'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`;
}

async function choose(page: Page, provider: string): Promise<Locator> {
  await page.getByLabel('Search providers').fill(provider);
  await page.getByRole('button', { name: new RegExp(`^${provider} `) }).click();
  return stepOf(page, 'Connect it');
}

describe('where the database has the configuration', () => {
  useConsole({}, { CONFIGURATION_SOURCE: 'database' });

  test('each trial that fails says why and what to do; then the key is taken, and the first answer has its price', {
    timeout: TOUR_MS,
  }, async () => {
    const { page } = person;
    await page.goto('/console/channels');
    await page.getByRole('link', { name: 'Add a provider' }).click();
    await page.getByRole('heading', { name: 'Choose a provider' }).waitFor();
    await lookAt(page);
    const connect = await choose(page, 'openai');
    const name = connect.getByLabel('Name of the channel');
    expect(await name.inputValue()).toBe('openai-2');
    await name.fill('claude');
    await connect.getByText('There is a channel of this name.').waitFor();
    await lookAt(page);
    await name.fill('another');
    const address = connect.getByLabel('Base URL');
    const key = connect.locator('input[type=password]');
    const tryIt = connect.getByRole('button', { name: /^(?:Connect|Try again)$/ });

    await address.fill('http://127.0.0.1:9/v1');
    await key.fill(KEY);
    await tryIt.click();
    await connect.getByText('Not reachable').waitFor();
    await connect.getByText(/In a container, 127\.0\.0\.1 is the container itself/).waitFor();
    await address.fill(await startNonsense());
    await tryIt.click();
    await connect.getByText(/something else than a list of models/).waitFor();
    await address.fill(`${running.simulator.url}/v1`);
    await key.fill(REFUSED);
    await tryIt.click();
    await connect.getByText('The key was refused').waitFor();
    await connect.getByText(/Check that the key is whole/).waitFor();
    await lookAt(page);
    await key.fill(KEY);
    await tryIt.click();

    const models = stepOf(page, 'Choose models');
    await models.getByLabel('gpt-*').waitFor();
    for (const box of await models.getByRole('checkbox').all()) await box.uncheck();
    await models.getByRole('button', { name: 'Add a model that is not listed' }).click();
    await models.getByLabel('Models that are not listed').fill('brand-new');
    await page.keyboard.press('Enter');
    await models.getByLabel('Name for callers of brand-new').fill('ours');
    await lookAt(page);
    await models.getByRole('button', { name: 'Use 1 model' }).click();

    const apply = stepOf(page, 'Apply the change');
    await apply.getByText('Model ours added (text, at another)').waitFor();
    expect(await page.content()).not.toContain(KEY);
    await lookAt(page);
    await apply.getByRole('button', { name: 'Apply…' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('Add the provider another');
    await dialog.getByRole('button', { name: 'Apply', exact: true }).click();

    const answer = stepOf(page, 'Get a first answer');
    await answer.getByRole('button', { name: 'Send', exact: true }).click();
    await answer.getByText('The first answer').waitFor();
    const figures = answer.getByLabel('Figures');
    for (const words of [/model ours/, /channel another/, /output \d+/, /cost /])
      await figures.getByText(words).first().waitFor();
    await lookAt(page);
    const sent = running.simulator.requests.at(-1);
    expect(sent?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(await page.content()).not.toContain(KEY);
    expect(JSON.stringify(running.lines)).not.toContain(KEY);
    expect(JSON.stringify(running.lines)).not.toContain(REFUSED);
    await answer.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: /^another/ }).waitFor();
  });

  test('what is chosen can be changed until it is applied, and nothing of it is left in the draft', {
    timeout: TOUR_MS,
  }, async () => {
    const { page } = person;
    await page.goto('/console/configuration?view=edit&add=true');
    const connect = await choose(page, 'simulator');
    await connect.getByLabel('Base URL').fill(running.simulator.url);
    await connect.getByRole('button', { name: 'Connect' }).click();
    const models = stepOf(page, 'Choose models');
    await models.getByRole('button', { name: /^Use \d+ models?$/ }).click();
    await stepOf(page, 'Apply the change')
      .getByText(/Channel simulator added/)
      .waitFor();
    await page.getByRole('button', { name: 'Change: Connect it' }).click();
    await connect.getByLabel('Name of the channel').fill('second');
    await connect.getByRole('button', { name: 'Connect' }).click();
    await models.getByRole('button', { name: /^Use \d+ models?$/ }).click();
    const apply = stepOf(page, 'Apply the change');
    await apply.getByText(/Channel second added/).waitFor();
    expect(await apply.getByText(/Channel simulator added/).count()).toBe(0);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Changes', { exact: true }).click();
    await page.getByText('No changes yet.').waitFor();
  });

  test('a cloud is connected by a model that it is tried with, or by the credentials of the machine', {
    timeout: TOUR_MS,
  }, async () => {
    const { page } = person;
    await page.goto('/console/configuration?view=edit&add=true');
    const connect = await choose(page, 'bedrock');
    await connect.getByLabel('region').fill('eu-central-1');
    await connect.getByText('Credential source', { exact: true }).click();
    await connect.getByText(/^AWS' default chain/).waitFor();
    expect(await connect.locator('input[type=password]').count()).toBe(0);
    await lookAt(page);
    await connect.getByLabel('Base URL').fill(running.simulator.url);
    const tryIt = connect.getByRole('button', { name: /^(?:Connect|Try again)$/ });
    await tryIt.click();
    await connect.getByText(/sent to the provider's own address only/).waitFor();
    await connect.getByText('API key', { exact: true }).first().click();
    await connect.locator('input[type=password]').fill(KEY);
    await connect.getByLabel('Model to try').fill('eu.amazon.nova-2-pro-v1:0');
    await lookAt(page);
    await tryIt.click();
    const models = stepOf(page, 'Choose models');
    await models.getByText(/^The model answers/).waitFor();
    await models.getByLabel('eu.amazon.nova-2-pro-v1:0', { exact: true }).waitFor();
    await lookAt(page);
  });
});

describe('where there is no file yet, and the simulator answers', () => {
  useConsole({ hasFile: false });

  test('the first provider, team and key are set up from the overview, with a command that works', {
    timeout: TOUR_MS,
  }, async () => {
    const { page } = person;
    await page.goto('/console/overview');
    await page.getByText('Connect your first provider').waitFor();
    await lookAt(page);
    await page.getByRole('link', { name: 'Set up the gateway' }).click();
    const connect = await choose(page, 'simulator');
    await connect.getByLabel('Base URL').fill(running.simulator.url);
    await lookAt(page);
    await connect.getByRole('button', { name: 'Connect' }).click();
    const models = stepOf(page, 'Choose models');
    await models.getByRole('button', { name: /^Use \d+ models?$/ }).click();
    const apply = stepOf(page, 'Apply the change');
    await apply.getByText(/Waiting until .* has the channel simulator/).waitFor();
    await lookAt(page);
    const download = page.waitForEvent('download');
    await apply.getByRole('link', { name: 'Download' }).click();
    await copyFile(await (await download).path(), running.configurationPath);

    const team = stepOf(page, 'Create a team and a key');
    await team.getByLabel('Team').fill('platform');
    await team.getByLabel('Its budget for a month, in USD').fill('100');
    await team.getByLabel('Key', { exact: false }).last().fill('first');
    await lookAt(page);
    await team.getByRole('button', { name: 'Create team and key' }).click();
    const command = await team.getByLabel('Command', { exact: true }).textContent();
    await lookAt(page);
    const [, secret] = /Bearer (\S+)'/.exec(command ?? '') ?? [];
    expect(command).toContain(running.stack.edgeUrl);
    await team.getByRole('button', { name: 'I have copied it' }).click();
    const answer = stepOf(page, 'Get a first answer');
    await answer.getByRole('button', { name: 'Send', exact: true }).click();
    await answer.getByText('The first answer').waitFor();
    expect(secret).toMatch(/^\S{20,}$/);
    expect(JSON.stringify(running.lines)).not.toContain(secret);
    await page.goto('/console/overview');
    await page.getByText('Nothing needs attention.').waitFor();
    expect(await page.getByText('Connect your first provider').count()).toBe(0);
  });
});
