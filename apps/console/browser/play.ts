import type { Page } from 'playwright-core';

/** The address of the playground with this view. */
export function playgroundPath(view: Readonly<Record<string, unknown>>): string {
  const search = Object.entries(view).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `${name}=${encodeURIComponent(text)}`;
  });
  return `/console/playground?${search.join('&')}`;
}

/** Writes a message and sends it by keyboard alone. */
export async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text);
  // It may be sent once the models are known.
  await page.getByRole('button', { name: 'Send', exact: true, disabled: false }).waitFor();
  await page.keyboard.press('Control+Enter');
}

/** A function that models may call. */
export const WEATHER_TOOL = {
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

/** What is done on the playground before a picture of it is taken. */
export const PLAYGROUND_SCENES: Readonly<
  Record<string, { view: Readonly<Record<string, unknown>>; play: (page: Page) => Promise<void> }>
> = {
  'playground-text': {
    view: { models: ['gpt-5.2', 'claude-sonnet-5'], effort: 'low' },
    play: async (page) => {
      await say(page, 'Say hello in three languages.');
      await page
        .getByText(/^cost /)
        .nth(1)
        .waitFor();
    },
  },
  'playground-tools': {
    view: { models: ['gpt-5.2'], protocol: 'messages', effort: 'low' },
    play: async (page) => {
      await page.getByRole('button', { name: 'Settings' }).click();
      await page.getByLabel('Tools').fill(JSON.stringify([WEATHER_TOOL], null, 2));
      await say(page, 'use tool get_weather');
      await page.getByLabel('Result of get_weather').waitFor();
      await page.getByRole('button', { name: 'Code' }).last().click();
      await page.getByRole('tab', { name: 'TypeScript' }).click();
    },
  },
  'playground-events': {
    view: { models: ['gpt-5.2'] },
    play: async (page) => {
      await say(page, 'Say hello.');
      await page.getByText(/^cost /).waitFor();
      await page.getByRole('button', { name: 'Raw events' }).click();
      await page.getByRole('region', { name: 'Raw events' }).getByRole('button').nth(2).click();
    },
  },
  'playground-images': {
    view: { family: 'images', models: ['dall-e-3'] },
    play: async (page) => {
      await page.getByLabel('Prompt').fill('A lighthouse at dusk');
      await page.keyboard.press('Control+Enter');
      await page.getByRole('link', { name: /^Download/ }).waitFor();
      await page.getByText(/^cost /).waitFor();
    },
  },
  'playground-speech': {
    view: { family: 'speech', models: ['gpt-4o-mini-tts'] },
    play: async (page) => {
      await page.getByLabel('Text to speak').fill('Good morning to everyone.');
      await page.keyboard.press('Control+Enter');
      await page.getByRole('link', { name: /^Download/ }).waitFor();
      await page.getByText(/^cost /).waitFor();
    },
  },
};
