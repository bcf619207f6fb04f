import type { Page } from 'playwright-core';
import type { RunningConsole } from './run-console.ts';

const EDIT = '/console/configuration?view=edit';

/** Changes a price and a weight in the form of a model, and shows what differs. */
async function changeModel(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^gpt-5\.2/ }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Output price').fill('8');
  await form.getByRole('group', { name: 'Route 2' }).getByLabel('Weight').fill('50');
  await form.getByRole('button', { name: 'Change the draft' }).click();
  await form.waitFor({ state: 'detached' });
  await page.getByText(/^Changes \(\d+\)$/).click();
  // The costs of the last week.
  await page.getByRole('combobox', { name: 'Key' }).waitFor();
  await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' });
}

/** Sends a request by the draft that is open, under the first key. */
export async function tryDraft(page: Page, message: string): Promise<void> {
  const panel = page.getByRole('region', { name: 'Try it' });
  await panel.getByRole('combobox', { name: 'Key' }).click();
  await page.getByRole('option').first().click();
  await panel.getByLabel('Message').fill(message);
  await panel.getByRole('button', { name: 'Try the draft' }).click();
}

/** What is done on the page of the configuration before a picture of it is taken, where the database has the configuration. */
export const DRAFT_SCENES: Readonly<Record<string, { path: string; play: (page: Page) => Promise<void> }>> = {
  'configuration-changes': { path: EDIT, play: changeModel },
  'configuration-try': {
    path: EDIT,
    play: async (page) => {
      await changeModel(page);
      await tryDraft(page, 'Say hello in three languages.');
      const panel = page.getByRole('region', { name: 'Try it' });
      await panel.getByText(/^cost /).waitFor();
      await panel.getByRole('link', { name: 'Request' }).scrollIntoViewIfNeeded();
    },
  },
  'configuration-apply': {
    path: EDIT,
    play: async (page) => {
      await changeModel(page);
      await page.getByRole('button', { name: 'Apply…' }).click();
      await page.getByRole('dialog').getByLabel('Reason').fill('The new price list');
    },
  },
  'configuration-history': {
    path: '/console/configuration?view=history',
    play: (page) => page.getByRole('button', { name: /^Revision 1/ }).waitFor(),
  },
  'configuration-revision': {
    path: '/console/configuration?view=history',
    play: async (page) => {
      await page.getByRole('button', { name: /^Revision 2/ }).click();
      await page.getByRole('dialog').getByLabel('Diff').waitFor();
    },
  },
};

/** Two revisions of the configuration after the imported one. */
export async function seedRevisions({ call }: Pick<RunningConsole, 'call'>): Promise<void> {
  const changes = [
    { model: 'dall-e-3', name: 'perImage', value: 0.05, reason: 'The list of October' },
    { model: 'whisper-1', name: 'perMinute', value: 0.005, reason: 'Our discount' },
  ];
  for (const { model, name, value, reason } of changes) {
    const edits = [{ op: 'set', path: ['models', model, 'price', name], value }];
    const drafted = await call('POST', '/configuration/draft', { edits });
    const text = typeof drafted === 'object' && drafted !== null && 'text' in drafted ? drafted.text : '';
    await call('POST', '/configuration/revisions', { text, reason });
  }
}
