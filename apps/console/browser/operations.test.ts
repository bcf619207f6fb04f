import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { BatchResultLine } from '@gateway/contracts/batch';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { type OpenPage, type RunningConsole, runConsole } from './run-console.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;

let running: RunningConsole;
let person: OpenPage;

beforeAll(async () => {
  running = await runConsole(inject('chromiumPath'), () => ({ WEBHOOK_PRIVATE_NETWORKS: '127.0.0.2/32' }));
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
  await page.getByLabel('Search by subject').fill('ATLAS');
  await page.getByRole('combobox', { name: 'Action' }).click();
  await page.getByRole('option', { name: 'Team changed' }).click();
  await page.getByRole('row').filter({ hasText: 'someone else' }).waitFor({ state: 'detached' });
  await page.getByRole('row').filter({ hasText: 'Team created' }).waitFor({ state: 'detached' });
  await page.getByRole('row').filter({ hasText: 'atlas' }).getByRole('button').click();
  const details = page.getByRole('dialog');
  await details.getByText('budget.usd').waitFor();
  expect(await details.getByRole('deletion').allTextContents()).toEqual(['5']);
  expect(await details.getByRole('insertion').allTextContents()).toEqual(['12']);

  // The address holds the view, so a colleague who gets it sees the same.
  await page.goto(page.url());
  await page.getByRole('dialog').getByText('budget.usd').waitFor();
  expect(await page.getByRole('textbox', { name: 'Search by subject' }).inputValue()).toBe('ATLAS');
});

test('a pasted configuration is checked with the line of its mistake, which leads there', async () => {
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/configuration');
  await page.getByText('took effect').waitFor();
  await page.getByLabel('Loaded configuration').getByText('gpt-5.2').first().waitFor();
  expect(await page.getByLabel('Loaded configuration').textContent()).not.toContain('three');

  await page.getByRole('tab', { name: 'Check a file' }).click();
  const editor = page.getByLabel('Configuration to check');
  await editor.fill('models:\n  new-model: { kind: text, routes: [{ channel: nowhere }] }\nchannels: {}\n');
  await page.getByText(/models\.new-model\.routes\[0\]\.channel: found/).waitFor();
  await page.getByRole('button', { name: 'Line 2' }).click();
  await page.keyboard.press('Home');
  await page.keyboard.press('Shift+End');
  await page.keyboard.press('Delete');
  await page.getByText('new-model').waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Start from the loaded file' }).click();
  await page.getByText('This configuration is valid').waitFor();
  await page.getByText('3 channels, 8 models. To deploy it').waitFor();
});

const MadeKey = z.looseObject({ id: z.string(), key: z.string() });
const Transcript = z.looseObject({ text: z.string() });
const MadeJob = z.looseObject({ id: z.string() });
const AddressOf = z.looseObject({ port: z.number() });

/** An image that its caller comes back for. */
async function orderImage(secret: string, prompt: string): Promise<string> {
  const response = await fetch(`${running.stack.edgeUrl}/v1/images/generations`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      prefer: 'respond-async',
    },
    body: JSON.stringify({ model: 'dall-e-3', prompt }),
  });
  expect(response.status).toBe(202);
  return MadeJob.parse(await response.json()).id;
}

test('a running job is found and cancelled by the one who confirms it', async () => {
  const { key } = MadeKey.parse(await running.call('POST', '/keys', { name: 'painter' }));
  const id = await orderImage(key, 'a ship [[simulate slow-first-byte=600000]]');
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/jobs?status=in_progress');
  await page.getByRole('row').filter({ hasText: id }).getByRole('button').click();
  const details = page.getByRole('dialog').first();
  await details.getByText('Started').waitFor();
  await details.getByRole('button', { name: 'Cancel job' }).click();
  await page
    .getByRole('dialog', { name: 'Cancel this job?' })
    .getByRole('button', { name: 'Cancel job' })
    .click();
  await details.getByText('cancelled', { exact: true }).waitFor();
  expect(await details.getByRole('button', { name: 'Cancel job' }).count()).toBe(0);

  // No list has it any more; its id still leads to it.
  await page.goto('/console/jobs');
  await page.getByLabel('Job ID').fill(id);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText('cancelled', { exact: true }).waitFor();
});

test('a failed job that was not done is queued again, and what is done shows its image', async () => {
  const { key } = MadeKey.parse(await running.call('POST', '/keys', { name: 'printer' }));
  const done = await orderImage(key, 'a lighthouse');
  const { page, signIn } = person;
  await signIn();
  await page.goto(`/console/jobs?status=completed&job=${done}`);
  await page.getByRole('dialog').getByText('done', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Open the image' }).waitFor();
  const image = page.getByRole('img', { name: 'Image 1 of 1, made by dall-e-3' });
  await image.waitFor();
  expect(await image.evaluate((element) => Number(Reflect.get(element, 'naturalWidth')))).toBeGreaterThan(0);

  const failed = await orderImage(key, 'a harbour [[simulate status=429 retry-after=600]]');
  await page.goto('/console/jobs');
  await page.getByRole('row').filter({ hasText: failed }).getByRole('button').click();
  const details = page.getByRole('dialog').first();
  await details.getByRole('link', { name: 'Attempts, times and cost' }).click();
  await page.getByRole('dialog').getByText('rate-limited 429').first().waitFor();
  await page.goBack();
  await details.getByRole('button', { name: 'Requeue' }).click();
  await page
    .getByRole('dialog', { name: 'Requeue this job?' })
    .getByRole('button', { name: 'Requeue' })
    .click();
  await details.getByText('Requeued', { exact: true }).waitFor();
});

test('a channel is tested alone, under a key that is found by its name, and its request is a click away', async () => {
  MadeKey.parse(await running.call('POST', '/keys', { name: 'tries channels' }));
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/channels');
  const card = page
    .getByRole('region')
    .filter({ has: page.getByRole('heading', { name: 'openai', exact: true }) });
  await card.getByRole('button', { name: 'Send test request' }).click();
  const dialog = page.getByRole('dialog', { name: 'Test openai' });
  await dialog.getByRole('combobox', { name: 'Key' }).fill('tries');
  await page.getByRole('option', { name: 'tries channels' }).click();
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  await dialog.getByRole('status').getByText('Working').waitFor();
  await dialog.getByText(/in total/).waitFor();
  await dialog.getByRole('link', { name: 'View request' }).click();
  await page.getByRole('dialog').getByText('tries channels').waitFor();
});

const batchOf = (prompts: readonly string[]): string =>
  prompts
    .map((prompt, at) =>
      JSON.stringify({
        custom_id: `line ${at}`,
        method: 'POST',
        url: '/v1/images/generations',
        body: { model: 'dall-e-3', prompt },
      }),
    )
    .join('\n');

async function orderBatch(secret: string, prompts: readonly string[]): Promise<string> {
  const response = await fetch(`${running.stack.edgeUrl}/v1/images/jobs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/jsonl' },
    body: batchOf(prompts),
  });
  expect(response.status).toBe(202);
  return MadeJob.parse(await response.json()).id;
}

test('a batch shows how far it is and which lines failed, and its results are a file', async () => {
  const { key } = MadeKey.parse(await running.call('POST', '/keys', { name: 'illustrator' }));
  const refused = 'a harbour [[simulate status=400]]';
  const begun = await orderBatch(key, ['a pier', refused, 'a ship [[simulate slow-first-byte=600000]]']);
  const done = await orderBatch(key, ['a tower', refused]);
  const { page, signIn } = person;
  await signIn();
  await page.goto(`/console/jobs?job=${begun}`);
  const details = page.getByRole('dialog').first();
  await details.getByText('1 of 3 done, 1 failed, 1 remaining').waitFor();
  const statuses = details.getByRole('radiogroup', { name: 'Status of lines' });
  await statuses.getByText('running', { exact: true }).click();
  await details.getByRole('link', { name: 'Line 3' }).waitFor();
  await statuses.getByText('failed', { exact: true }).click();
  await details.getByRole('link', { name: 'Line 2' }).click();
  await details.getByRole('link', { name: begun }).click();
  await statuses.getByText('running', { exact: true }).click();
  await details.getByRole('link', { name: 'Line 3' }).waitFor();
  // What becomes of lines is seen while one looks at them.
  await running.call('POST', `/jobs/${begun}/cancel`);
  await details.getByText('1 of 3 done, 1 failed, 1 not run').waitFor();
  await statuses.getByText('cancelled', { exact: true }).waitFor();

  await page.goto(`/console/jobs?status=completed&job=${done}`);
  await details.getByText('1 of 2 done, 1 failed').waitFor();
  const downloading = page.waitForEvent('download');
  await details.getByRole('button', { name: 'Download results (JSONL)' }).click();
  const lines = (await readFile(await (await downloading).path(), 'utf8')).trimEnd().split('\n');
  const results = lines.map((line) => BatchResultLine.parse(JSON.parse(line)));
  expect(results.map(({ custom_id, response }) => [custom_id, response?.status_code])).toEqual([
    ['line 0', 200],
    ['line 1', 400],
  ]);
});

test('a webhook shows how its receiver answered, and is sent again', async () => {
  let status = 410;
  const receiver = createServer((_, response) => response.writeHead(status).end()).listen(0, '127.0.0.2');
  await once(receiver, 'listening');
  const { port } = AddressOf.parse(receiver.address());
  try {
    const made = MadeKey.parse(await running.call('POST', '/keys', { name: 'hooked' }));
    await running.call('PATCH', `/keys/${made.id}`, { webhookUrl: `http://127.0.0.2:${port}/hook?secret=1` });
    await running.call('POST', `/keys/${made.id}/webhook-secret`, {});
    const job = await orderImage(made.key, 'a lighthouse');
    const { page, signIn } = person;
    await signIn();
    await page.goto(`/console/webhooks?keyId=${made.id}`);
    const row = page.getByRole('row').filter({ hasText: `http://127.0.0.2:${port}/hook?…` });
    await row.getByText('answered 410').waitFor();
    // Beside the key's name, which leads to the key.
    await row.getByRole('button').click({ position: { x: 20, y: 20 } });
    const details = page.getByRole('dialog').first();
    await details.getByRole('link', { name: job }).waitFor();
    status = 200;
    await details.getByRole('button', { name: 'Send again' }).click();
    await page
      .getByRole('dialog', { name: 'Send this webhook again?' })
      .getByRole('button', { name: 'Send again' })
      .click();
    await details.getByText('delivered', { exact: true }).waitFor();
    await details.getByText('Answered 200').waitFor();
  } finally {
    receiver.closeAllConnections();
    receiver.close();
  }
});

test('what a transcription came to is read when a person asks for it', async () => {
  const { key } = MadeKey.parse(await running.call('POST', '/keys', { name: 'listener' }));
  const form = new FormData();
  form.set('model', 'whisper-1');
  const recording = join(import.meta.dirname, '../../../examples/speech.wav');
  form.set('file', new Blob([await readFile(recording)]), 'speech.wav');
  const response = await fetch(`${running.stack.edgeUrl}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, prefer: 'respond-async' },
    body: form,
  });
  const { id } = MadeJob.parse(await response.json());
  const { page, signIn } = person;
  await signIn();
  await page.goto(`/console/jobs?job=${id}`);
  await page.getByRole('button', { name: 'Show transcript' }).click();
  const transcript = page.getByLabel('Transcript', { exact: true });
  await transcript.waitFor();
  const { text } = Transcript.parse(JSON.parse((await transcript.textContent()) ?? ''));
  expect(text.length).toBeGreaterThan(0);
});

test('what needs attention says its cause and whom it touches, and what can be done is a button beside it', async () => {
  await running.call('POST', '/channels/local/rest', { reason: 'new graphics cards' });
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/overview');
  const list = page.getByRole('region', { name: 'Needs attention' });
  const item = list.getByRole('listitem').filter({ hasText: "The channel 'local' is resting" });
  await item.getByText('new graphics cards (admin)').waitFor();
  await item.getByText('no other route for in-house').waitFor();
  await list.getByText("The model 'gpt-5.2' has only the channel 'openai' left.").waitFor();
  await item.getByRole('button', { name: 'Test local' }).click();
  await page
    .getByRole('dialog', { name: 'Test local' })
    .getByRole('button', { name: 'Close' })
    .first()
    .click();
  await item.getByRole('button', { name: 'Wake local' }).click();
  await item.waitFor({ state: 'detached' });
});

test('resting from the finding of a slow model proposes that model, not the whole channel', async () => {
  const model = 'claude-sonnet-5-5';
  const { page, signIn } = person;
  await page.route(/\/admin\/v1\/attention\b/, async (route) => {
    const response = await route.fetch();
    const { data, ...others } = z.looseObject({ data: z.array(z.unknown()) }).parse(await response.json());
    const slow = {
      ...{ id: `model_slow ${model} claude`, kind: 'model_slow', subject: model },
      ...{ sentence: `The first output of the model '${model}' is slow.`, comparison: null, affects: null },
      ...{ advice: 'Rest the model on this channel.', actions: ['rest_channel'], isUrgent: false },
      ...{
        about: { models: [model], channels: ['claude'], teams: [], keyId: null },
        since: null,
        until: null,
      },
    };
    await route.fulfill({ response, json: { ...others, data: [slow, ...data] } });
  });
  await signIn();
  await page.goto('/console/overview');
  await page.getByRole('button', { name: 'Rest claude' }).click();
  const dialog = page.getByRole('dialog', { name: 'Rest claude?' });
  expect(await dialog.getByRole('combobox', { name: 'Model' }).inputValue()).toBe(model);
  const sent = page.waitForRequest((request) => request.url().endsWith('/channels/claude/rest'));
  await dialog.getByRole('button', { name: 'Rest' }).click();
  expect((await sent).postDataJSON()).toMatchObject({ model, account: null });
  await dialog.waitFor({ state: 'hidden' });
  await running.call('POST', '/channels/claude/wake', {});
});

test('alerts show who is notified of what, and a test of a receiver says what came of it', async () => {
  const { page, signIn } = person;
  await signIn();
  await page.goto('/console/alerts');
  await page
    .getByRole('region', { name: 'Rules' })
    .getByText('Key expiring; teams: platform → people')
    .waitFor();
  await page.getByText('Monday at 08:00 (UTC) to people').waitFor();
  await page.getByText('Not set in the admin service: TEAMS_WORKFLOW_URL').waitFor();
  const receiver = page.getByRole('article', { name: 'ops' });
  await receiver.getByRole('button', { name: 'Send a test to ops' }).click();
  await receiver.getByText('an address that webhooks may not be sent to over plain http').waitFor();
  expect(await page.textContent('body')).not.toContain('T000');
});
