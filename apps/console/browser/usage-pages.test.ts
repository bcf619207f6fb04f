import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { type OpenPage, type RunningConsole, runConsole } from './run-console.ts';
import { seed } from './seed.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;

let running: RunningConsole;
let requestId: string;
let person: OpenPage;
/** Between these moments. */
let seededMs: readonly number[];

beforeAll(async () => {
  running = await runConsole(inject('chromiumPath'));
  const beganMs = Date.now();
  ({ requestId } = await seed(running));
  seededMs = [beganMs, Date.now()];
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

test("the error that a client got leads from the command palette to its request's attempts, times and cost", async () => {
  const { page } = person;
  await page.goto('/console/overview');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Search pages').fill(`Error: 429 Too many requests (request id: ${requestId})`);
  await page.getByText(`Request ${requestId}`).waitFor();
  await page.keyboard.press('Enter');
  const request = page.getByRole('dialog');
  await request.getByText("The provider's rate limit for this model was reached.").waitFor();
  await request.getByText('rate-limited 429').waitFor();
  await request.getByRole('list', { name: 'Time breakdown' }).getByText('Provider').waitFor();
  await request
    .getByRole('table', { name: 'Cost' })
    .getByText(/× \$1.25 \/ 1M/)
    .waitFor();
  await request.getByRole('region', { name: 'Omitted in translation' }).getByText('top_k').waitFor();
});

test('requests are filtered by outcome, and the address shows the same to a colleague', async () => {
  const { page } = person;
  await page.goto('/console/requests?outcome=failed');
  const rows = page.getByRole('table', { name: 'Requests' }).getByRole('row');
  await rows.filter({ hasText: 'failed' }).first().waitFor();
  expect(await rows.filter({ hasText: /\bok\b/ }).count()).toBe(0);
  await rows.filter({ hasText: 'failed' }).first().getByRole('button').click();
  await page.getByRole('dialog').getByText('Ended with an error.').waitFor();
});

test('a request is shown as it ends while the list is live', async () => {
  const { page } = person;
  await page.goto('/console/requests');
  await page.getByRole('switch', { name: 'Live' }).click();
  await page.getByText('Requests are shown as they end.').waitFor();
  await fetch(`${running.stack.edgeUrl}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${running.stack.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'claude-of-this-test',
      max_tokens: 16,
      messages: [{ role: 'user', content: 'Hello.' }],
    }),
  }).then((response) => response.arrayBuffer());
  await page.getByRole('row').filter({ hasText: 'claude-of-this-test' }).waitFor();
});

test('usage is grouped as chart and table, a row narrows it, and the view is exported', async () => {
  const { page } = person;
  await page.goto('/console/usage?groupBy=endpoint&show=requests');
  await page.getByRole('figure', { name: /^Requests\. By day: / }).waitFor();
  await page.getByRole('row').filter({ hasText: 'messages' }).getByRole('button').click();
  await page.waitForURL(/endpoint=messages/);
  await page.getByRole('button', { name: 'Export' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: 'NDJSON' }).click();
  const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\n');
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ endpoint: 'messages' });

  await page.goto('/console/usage?groupBy=keyId&show=requests');
  await page.getByRole('row').filter({ hasText: 'search' }).waitFor();
  await page.getByRole('button', { name: 'Export' }).click();
  const table = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: 'Table as CSV' }).click();
  const [head, ...rows] = (await readFile(await (await table).path(), 'utf8')).trim().split('\r\n');
  expect(head).toMatch(/^Key,Key ID,Requests,Errors,/);
  expect(rows.some((row) => /^search,key_/.test(row))).toBe(true);
});

test("times and days are those of the person's machine until another zone is chosen, and the zone is named", async () => {
  const other = await running.open({ timezoneId: 'Pacific/Kiritimati' });
  await other.signIn();
  const { page } = other;
  page.setDefaultTimeout(PATIENCE_MS);
  /** The days of the seeded requests in a zone: there may be a midnight between them. */
  const daysIn = (timeZone: string) => {
    const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone });
    return seededMs.map((atMs) => day.format(atMs)).join('|');
  };
  const chartIn = (zone: string) =>
    page.getByRole('figure', { name: new RegExp(`^Requests\\. By day: .* at (${daysIn(zone)})`) });
  await page.goto('/console/usage?groupBy=endpoint&show=requests&range=30d');
  await chartIn('Pacific/Kiritimati').waitFor();
  await page.getByText('Pacific/Kiritimati').waitFor();

  await page.getByRole('button', { name: /time zone and sign out/ }).click();
  await page.getByRole('menu').getByText('UTC', { exact: false }).first().click();
  await chartIn('UTC').waitFor();
  await page.reload();
  await chartIn('UTC').waitFor();
  await page.goto(`/console/requests?request=${JSON.stringify(requestId)}`);
  await page
    .getByRole('dialog')
    .getByText(/\d{2}:\d{2}:\d{2} UTC/)
    .waitFor();
  expect(other.problems).toEqual([]);
  await page.context().close();
});

test('the overview says what needs a person, and leads to the page where it is put right', async () => {
  const { page } = person;
  await page.goto('/console/overview');
  await page.getByRole('figure', { name: /^Requests\. By hour: / }).waitFor();
  const item = page.getByRole('listitem').filter({ hasText: 'new graphics cards are being fitted' });
  await item.getByRole('link', { name: 'Channels' }).click();
  await page.getByRole('heading', { level: 1, name: 'Channels' }).waitFor();
});

test('each number of a card, a chart, a row and a badge leads to the requests behind it', async () => {
  const { page } = person;
  const requests = page.getByRole('table', { name: 'Requests' }).getByRole('row');
  await page.goto('/console/overview?range=1h');
  await page.getByRole('link', { name: /^Errors: .* View requests$/ }).click();
  await page.waitForURL(/failed=true/);
  await requests.filter({ hasText: 'failed' }).first().waitFor();
  expect(await requests.filter({ hasText: /\bok\b/ }).count()).toBe(0);

  await page.goto('/console/overview?range=15m&by=all');
  const chart = page.getByRole('figure', { name: /^Requests\. By minute: / });
  await chart.waitFor();
  const surface = chart.getByRole('application');
  await surface.focus();
  for (let times = 0; times < 15; times += 1) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.waitForURL(/requests\?.*from=.*to=/);

  await page.goto('/console/usage?groupBy=outcome');
  await page
    .getByRole('row')
    .filter({ hasText: 'failed' })
    .getByRole('link', { name: /^View \d+ errors$/ })
    .click();
  await page.waitForURL(/requests\?.*outcome=failed/);

  await page.goto('/console/channels');
  await page
    .getByRole('link', { name: /^rate-limited \d+$/ })
    .first()
    .click();
  await page.waitForURL(/attemptOutcome=rate-limited/);
  await requests.filter({ hasText: 'gpt-5.2' }).first().waitFor();
  await page.getByRole('button', { name: 'Remove: an attempt was rate-limited' }).click();
  await page.waitForURL((url) => !url.search.includes('attemptOutcome'));
});

test('a part of a chart that is dragged over is shown by itself, and its range is in the address', async () => {
  const { page } = person;
  await page.goto('/console/usage?range=6h&show=requests');
  const chart = page.getByRole('figure', { name: /^Requests\. By five minutes: / });
  await chart.waitFor();
  const box = await chart.boundingBox();
  if (box === null) throw new Error('the chart has no place');
  const y = box.y + 60;
  // The browser's own menu opens nothing of the chart.
  await page.mouse.click(box.x + box.width * 0.5, y, { button: 'right' });
  await page.mouse.move(box.x + box.width * 0.4, y);
  await page.mouse.down();
  for (const share of [0.5, 0.6, 0.7]) await page.mouse.move(box.x + box.width * share, y);
  await page.mouse.up();
  await page.waitForURL(/usage\?.*from=.*to=/);
});

test('requests are found by what their callers named them, and their details lead to others of the same name', async () => {
  const { page } = person;
  await fetch(`${running.stack.edgeUrl}/v1/responses`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${running.stack.key}`,
      ...{ 'content-type': 'application/json', 'x-gateway-label': 'nightly-import' },
    },
    body: JSON.stringify({
      model: 'gpt-5.2',
      input: 'Hi.',
      safety_identifier: 'user-4711',
      conversation: null,
    }),
  }).then((response) => response.arrayBuffer());
  await page.goto('/console/requests');
  await page.getByRole('button', { name: 'More filters' }).click();
  await page.getByRole('textbox', { name: 'Label' }).fill('nightly-import');
  await page.waitForURL(/label=nightly-import/);
  const rows = page.getByRole('table', { name: 'Requests' }).getByRole('row');
  await expect.poll(() => rows.count(), { timeout: PATIENCE_MS }).toBe(2);
  await rows.last().getByRole('button').click();
  await page.getByRole('dialog').getByRole('link', { name: 'user-4711' }).click();
  await page.waitForURL(/endUser=user-4711/);
  const shown = (name: string) => page.getByRole('textbox', { name }).inputValue();
  expect([await shown('End user'), await shown('Label')]).toEqual(['user-4711', '']);
});

test('a filter that a link has set is seen, and lasts until it is removed', async () => {
  const { page } = person;
  await page.goto('/console/requests?failed=true');
  await page.getByRole('table', { name: 'Requests' }).getByRole('row').last().getByRole('button').click();
  await page.getByRole('dialog').getByRole('link', { name: 'View requests with this error' }).click();
  await page.waitForURL(/errorCode=/);
  await page.getByRole('combobox', { name: 'Error code' }).waitFor();
  await page.goto('/console/requests?attemptChannel=4711');
  await page.getByRole('button', { name: 'Remove: attempted at 4711' }).click();
  await page.waitForURL((url) => !url.search.includes('attemptChannel'));
});

test('a view is saved under a name, opened again and deleted', async () => {
  const { page } = person;
  await page.goto('/console/requests?failed=true&range=24h');
  const views = page.getByRole('button', { name: 'Views' });
  await views.click();
  await page.getByRole('menuitem', { name: 'Save this view' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Failures of today');
  await page.keyboard.press('Enter');
  await page.goto('/console/requests');
  await views.click();
  await page.getByRole('menuitem', { name: 'Failures of today', exact: true }).click();
  await page.waitForURL(/failed=true.*range=24h|range=24h.*failed=true/);
  await views.click();
  await page.getByRole('menuitem', { name: 'Delete Failures of today' }).click();
  await page.reload();
  await views.click();
  await page.getByRole('menuitem', { name: 'Save this view' }).waitFor();
  expect(await page.getByRole('menuitem', { name: 'Failures of today' }).count()).toBe(0);
});

test('a request leads to the page of its key: its causes of errors, its latest requests, its changes', async () => {
  const { page } = person;
  await page.goto('/console/requests?failed=true');
  await page.getByRole('table', { name: 'Requests' }).getByRole('row').last().getByRole('button').click();
  await page.getByRole('dialog').getByRole('link', { name: 'search' }).click();
  await page.getByRole('heading', { level: 1, name: 'search' }).waitFor();
  await page.getByText('Last used').waitFor();
  await page.getByRole('region', { name: 'Changes' }).getByText('Key created by').waitFor();
  await page
    .getByRole('region', { name: 'Settings and limits' })
    .getByRole('button', { name: 'Edit' })
    .waitFor();
  await page
    .getByRole('region', { name: 'Errors by cause' })
    .getByRole('link', { name: / · / })
    .first()
    .click();
  await page.waitForURL(/errorCode=.*keyId=|keyId=.*errorCode=/);
  await page
    .getByRole('table', { name: 'Requests' })
    .getByRole('row')
    .filter({ hasText: 'failed' })
    .first()
    .waitFor();
});
