import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { tryDraft } from './draft-scenes.ts';
import { type OpenPage, type RunningConsole, runConsole } from './run-console.ts';
import { seriousViolations, showIn } from './serious-violations.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;

let running: RunningConsole;
let person: OpenPage;

beforeAll(async () => {
  running = await runConsole(inject('chromiumPath'), () => ({ CONFIGURATION_SOURCE: 'database' }));
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

test('a draft is applied with a reason, is in the history and the log of changes, and is undone from there', async () => {
  const { page } = person;
  await page.goto('/console/configuration?view=edit');
  await page.getByRole('button', { name: /^gpt-5\.2/ }).click();
  const form = page.getByRole('dialog');
  await form.getByRole('group', { name: 'Route 2' }).getByLabel('Weight').fill('50');
  await form.getByRole('button', { name: 'Change the draft' }).click();
  await form.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Apply…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Route of gpt-5.2 at local: weight set to 50').waitFor();
  const apply = dialog.getByRole('button', { name: 'Apply', exact: true });
  expect(await apply.isDisabled()).toBe(true);
  await dialog.getByLabel('Reason').fill('the local one is idle');
  await apply.click();
  await page.getByText('Revision 2 is in use.').waitFor();

  await page.getByRole('tab', { name: 'History' }).click();
  await page.getByRole('button', { name: /Revision 2.*in use.*the local one is idle/s }).click();
  await page.getByRole('dialog').getByText('Route of gpt-5.2 at local: weight set to 50').waitFor();
  for (const [scheme, rules] of [
    ['light', undefined],
    ['dark', ['color-contrast']],
  ] as const) {
    await showIn(page, scheme);
    expect(await seriousViolations(page, rules)).toEqual([]);
  }
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /Revision 1.*Imported from/s }).click();
  await page.getByRole('button', { name: 'Go back to this revision' }).click();
  await page.getByRole('button', { name: 'Go back', exact: true }).click();
  await page.getByText('Revision 3 is in use.').waitFor();
  await page.getByText('Back to revision 1').waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(360);

  await page.goto('/console/audit');
  await page.getByRole('row').filter({ hasText: 'revision 2' }).getByRole('button').click();
  await page.getByRole('dialog').getByText('the local one is idle').waitFor();
});

test('a draft of a revision that is no longer the last one is not applied, and says who was faster', async () => {
  const { page } = person;
  await page.goto('/console/configuration?view=edit');
  await page.getByText('Text', { exact: true }).click();
  const editor = page.getByLabel('Draft of the configuration');
  await editor.waitFor();
  const { text } = JSON.parse(JSON.stringify(await running.call('POST', '/configuration/draft', {})));
  await editor.fill(`${text}# a comment\n`);
  await running.call('POST', '/configuration/revisions', {
    text: text.replace('outputPerMTok: 10', 'outputPerMTok: 8'),
    reason: 'it became cheaper',
  });
  const apply = page.getByRole('button', { name: 'Apply…' });
  await apply.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('mine');
  await dialog.getByRole('button', { name: 'Apply', exact: true }).click();
  await dialog.getByText(/it became cheaper.*price\.outputPerMTok 10 → 8/).waitFor();
});

test('a draft says what the requests of the last week would have cost', async () => {
  const { page } = person;
  const reply = await fetch(`${running.stack.edgeUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${running.stack.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5.2', messages: [{ role: 'user', content: 'hello '.repeat(2000) }] }),
  });
  expect(reply.status).toBe(200);
  await reply.text();
  await page.goto('/console/configuration?view=edit');
  await page.getByRole('button', { name: /^gpt-5\.2/ }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Input price', { exact: true }).fill('1000');
  await form.getByRole('button', { name: 'Change the draft' }).click();
  await form.waitFor({ state: 'detached' });
  await page.getByText(/^Changes/).click();
  const costs = page.getByRole('region', { name: 'In dollars' });
  await costs
    .getByText(/^Requests for gpt-5\.2 .*would have cost \$\d+\.\d\d more/)
    .first()
    .waitFor();
  await costs.getByText('By route').click();
  await costs
    .getByText(/^gpt-5\.2 at /)
    .first()
    .waitFor();
  for (const [scheme, rules] of [
    ['light', undefined],
    ['dark', ['color-contrast']],
  ] as const) {
    await showIn(page, scheme);
    expect(await seriousViolations(page, rules)).toEqual([]);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(360);
});

test('a draft is tried on one request before it is applied: what answered and what it cost, or why nothing did', async () => {
  const { page } = person;
  await page.goto('/console/configuration?view=edit');
  await page.getByText('Text', { exact: true }).click();
  const editor = page.getByLabel('Draft of the configuration');
  await editor.waitFor();
  const { text } = JSON.parse(JSON.stringify(await running.call('POST', '/configuration/draft', {})));
  const draft = (key: string) =>
    text
      .replace(
        'channels:\n',
        `channels:\n  tried: { provider: simulator, baseUrl: "${running.simulator.url}", apiKey: ${key} }\n`,
      )
      .replace(
        'models:\n',
        'models:\n  only-drafted: { kind: text, price: { inputPerMTok: 1000000 }, routes: [{ channel: tried, model: gpt-5.2 }] }\n',
      );
  await editor.fill(draft('sk-of-the-draft-0123456789'));
  await page.getByText(/^Changes \(2\)/).click();
  const panel = page.getByRole('region', { name: 'Try it' });
  const send = panel.getByRole('button', { name: 'Try the draft' });
  // The model that the draft changes is proposed.
  expect(await panel.getByRole('combobox', { name: 'Model' }).inputValue()).toBe('only-drafted');
  expect(await send.isDisabled()).toBe(true);
  await tryDraft(page, 'Is anybody there?');
  await panel.getByText('only-drafted at tried as gpt-5.2').waitFor();
  await panel.getByText('Is anybody there?', { exact: false }).nth(1).waitFor();
  await panel
    .getByRole('group', { name: 'Figures' })
    .getByText(/^cost \$\d/)
    .waitFor();
  for (const [scheme, rules] of [
    ['light', undefined],
    ['dark', ['color-contrast']],
  ] as const) {
    await showIn(page, scheme);
    expect(await seriousViolations(page, rules)).toEqual([]);
  }
  expect(running.simulator.requests.at(-1)?.headers.authorization).toBe('Bearer sk-of-the-draft-0123456789');
  expect(JSON.stringify(running.lines)).not.toContain('sk-of-the-draft');

  running.simulator.script({ status: 401 });
  await send.click();
  await panel.getByText(/^No answer: status \d+/).waitFor();
  await panel.getByText(/^Detail: answered 401/).waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  expect(await seriousViolations(page)).toEqual([]);
  await panel.getByRole('link', { name: 'Request' }).click();
  await page.getByText('a draft, to try it').waitFor();
});
