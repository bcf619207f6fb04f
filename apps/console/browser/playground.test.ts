import { createGate } from '@gateway/simulator/gate';
import { recordedStream } from '@gateway/simulator/recorded-stream';
import { waitFor } from '@gateway/testkit/wait-for';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { playgroundPath, say, WEATHER_TOOL } from './play.ts';
import { type OpenPage, type RunningConsole, runConsole } from './run-console.ts';
import { seriousViolations, showIn } from './serious-violations.ts';

/** The machine may be busy: what is waited for comes much sooner. */
const PATIENCE_MS = 30_000;

const MadeKey = z.looseObject({ id: z.string(), key: z.string() });

let running: RunningConsole;
let key: z.infer<typeof MadeKey>;
let person: OpenPage;

beforeAll(async () => {
  running = await runConsole(inject('chromiumPath'));
  key = MadeKey.parse(await running.call('POST', '/keys', { name: 'player' }));
}, 300_000);
afterAll(() => running?.close());
beforeEach(async () => {
  running.simulator.reset();
  person = await running.open();
  person.page.setDefaultTimeout(PATIENCE_MS);
  await person.signIn();
});
afterEach(async () => {
  // Errors of scripts, what the page's policy forbids, requests to other servers.
  expect(person.problems).toEqual([]);
  await person.page.context().close();
});

/** The page with this view, and with the key of this file. */
const open = (view: Readonly<Record<string, unknown>>): Promise<unknown> =>
  person.page.goto(playgroundPath({ key: key.id, ...view }));

const conversation = (page: Page, model: string) =>
  page.getByRole('region', { name: `Conversation with ${model}` });

const PROTOCOLS = [
  ['responses', 'gpt-5.2', '/v1/responses'],
  ['messages', 'claude-sonnet-5', '/v1/messages'],
  ['chat', 'gpt-5.2', '/v1/chat/completions'],
] as const;

test.for(PROTOCOLS)(
  'a text is shown while it comes in %s, and its tokens and its cost when it has ended',
  async ([protocol, model, path]) => {
    const { page } = person;
    const gate = createGate();
    running.simulator.script(path, { stallAfter: 6, resume: gate.opened, burst: 1 });
    await open({ protocol, models: [model] });
    await say(page, 'Say hello to everyone who reads this sentence.');
    const answers = conversation(page, model);
    await answers.getByText(/^You/).waitFor();
    await answers.getByRole('button', { name: 'Stop' }).waitFor();
    expect(await answers.getByText(/^cost /).count()).toBe(0);
    gate.open();
    await answers.getByText('You said: Say hello to everyone who reads this sentence.').waitFor();
    const figures = answers.getByRole('group', { name: 'Figures' });
    await figures.getByText(/^first output \d/).waitFor();
    await figures.getByText(/^input tokens \d/).waitFor();
    await figures.getByText(/^output tokens \d/).waitFor();
    await figures.getByText(/^cost \$0\.000/).waitFor();
    await figures.getByRole('link', { name: 'Request' }).click();
    await page.getByRole('dialog').getByRole('table', { name: 'Cost' }).waitFor();
  },
);

test('two models answer side by side, and each goes on with its own conversation', async () => {
  const { page } = person;
  await open({ models: ['gpt-5.2', 'claude-sonnet-5'] });
  await say(page, 'The first message.');
  for (const model of ['gpt-5.2', 'claude-sonnet-5'])
    await conversation(page, model).getByText('You said: The first message.').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await say(page, 'The second message.');
  for (const model of ['gpt-5.2', 'claude-sonnet-5'])
    await conversation(page, model).getByText('You said: The second message.').waitFor();
  const seconds = running.simulator.requests
    .map((request) => request.text())
    .filter((body) => body.includes('The second message.'));
  expect(seconds).toHaveLength(2);
  for (const body of seconds) expect(body).toContain('You said: The first message.');
});

test('Escape stops the answer, and the provider is not read any further', async () => {
  const { page } = person;
  running.simulator.script('/v1/responses', { stallAfter: 6, resume: createGate().opened });
  await open({ models: ['gpt-5.2'] });
  await say(page, 'Say something long.');
  const answers = conversation(page, 'gpt-5.2');
  await answers.getByText(/^You/).waitFor();
  const request = await running.simulator.nextRequest(({ path }) => path === '/v1/responses');
  await page.keyboard.press('Escape');
  await answers.getByText('Stopped.').waitFor();
  expect(await request.closed).toBe('aborted');
});

test('an error is shown in the words of its protocol', async () => {
  const { page } = person;
  await open({ protocol: 'messages', models: ['gpt-5.2'], maxOutputTokens: 100, temperature: 1.5 });
  await say(page, 'Hello.');
  const alert = conversation(page, 'gpt-5.2').getByRole('alert');
  await alert.getByText(/temperature/).waitFor();
  await alert.getByText('400 invalid_request_error').waitFor();
  // It is no part of the conversation: the next request is whole without it.
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByLabel('Temperature').fill('1');
  await say(page, 'Hello again.');
  await conversation(page, 'gpt-5.2').getByText('You said: Hello again.').waitFor();
});

test('a refusal stands out, and an error in the middle of a stream is shown beside what has come', async () => {
  const { page } = person;
  running.simulator.script('/v1/messages', { sse: recordedStream('messages-refusal') });
  await open({ protocol: 'messages', models: ['claude-sonnet-5'] });
  await say(page, 'Do something wrong.');
  const answers = conversation(page, 'claude-sonnet-5');
  await answers.getByText('The model refused.').waitFor();
  running.simulator.script('/v1/messages', { sse: recordedStream('messages-error-mid-stream') });
  await say(page, 'Do something that breaks.');
  await answers.getByRole('alert').getByText('Overloaded').waitFor();
});

test.for(PROTOCOLS)('a tool is called in %s, and its result is answered', async ([protocol, model]) => {
  const { page } = person;
  await open({ protocol, models: [model] });
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByLabel('Tools').fill(JSON.stringify([WEATHER_TOOL]));
  await say(page, 'use tool get_weather');
  const answers = conversation(page, model);
  await answers.getByRole('region', { name: 'Call to get_weather' }).getByText('"city"').waitFor();
  await answers.getByLabel('Result of get_weather').fill('Sunny, 21 degrees.');
  await answers.getByRole('button', { name: 'Send the result' }).click();
  await answers.getByText(/^The tool answered:.*Sunny, 21 degrees\./).waitFor();
});

test('structured output follows the schema, reasoning stands apart, a picture goes along', async () => {
  const { page } = person;
  await open({ models: ['gpt-5.2'], effort: 'low' });
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByLabel('Answer schema').fill('{ "type": "array" ');
  await page.getByText('The answer schema must be a JSON object.').waitFor();
  await page.getByLabel('Answer schema').fill(
    JSON.stringify({
      type: 'object',
      properties: { title: { type: 'string' } },
      required: ['title'],
      additionalProperties: false,
    }),
  );
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: DOT });
  await page.getByText('dot.png').waitFor();
  await say(page, 'Give the picture a title.');
  const answers = conversation(page, 'gpt-5.2');
  await answers.getByLabel('Structured output').getByText('"title"').waitFor();
  await answers.getByRole('button', { name: 'Reasoning' }).click();
  const request = await running.simulator.nextRequest(({ path }) => path === '/v1/responses');
  expect(request.text()).toContain(`data:image/png;base64,${DOT.toString('base64')}`);
});

/** A PNG of one pixel. */
const DOT = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

test('a request is shown as code without a secret, and event by event as it came', async () => {
  const { page } = person;
  await open({ models: ['gpt-5.2'] });
  await say(page, "It's a secret prompt.");
  const answers = conversation(page, 'gpt-5.2');
  await answers.getByText("You said: It's a secret prompt.").waitFor();
  await answers.getByRole('button', { name: 'Code' }).click();
  for (const [language, contents] of [
    ['curl', ['/v1/responses', 'Bearer $GATEWAY_KEY', `It'\\''s a secret prompt.`]],
    ['Python', ['from openai import OpenAI', 'os.environ["GATEWAY_KEY"]', 'stream=True']],
    ['TypeScript', ['new OpenAI', 'process.env.GATEWAY_KEY', 'stream: true']],
  ] as const) {
    await page.getByRole('tab', { name: language, exact: true }).click();
    const code = await page.getByLabel(`The request in ${language}`, { exact: true }).textContent();
    for (const content of contents) expect(code).toContain(content);
  }
  await page.getByRole('tab', { name: 'Raw events' }).click();
  const events = page.getByRole('region', { name: 'Raw events' });
  await events.getByRole('button', { name: 'response.created' }).click();
  await page.getByLabel('The event').getByText('"sequence_number":0').waitFor();
  expect(await page.content()).not.toContain(key.key);
  expect(page.url()).not.toContain('secret');
});

test('the conversation is still there after another page, until it is started over', async () => {
  const { page } = person;
  await open({ models: ['gpt-5.2'] });
  await say(page, 'Remember me.');
  await page.getByText('You said: Remember me.').waitFor();
  await page.getByRole('link', { name: 'Keys' }).click();
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Playground' }).click();
  await page.getByText('You said: Remember me.').waitFor();
  expect(new URL(page.url()).searchParams.get('key')).toContain(key.id);
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByText('No messages yet').waitFor();
});

test('a request of the log opens in the playground: with its content where it was sent from here, else with a sentence', async () => {
  const { page } = person;
  await open({ models: ['gpt-5.2'], protocol: 'chat' });
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByLabel('Instructions').fill('Answer in one word.');
  await say(page, 'What is the capital of Norway?');
  await conversation(page, 'gpt-5.2')
    .getByText(/^cost /)
    .waitFor();
  await conversation(page, 'gpt-5.2').getByRole('link', { name: 'Request' }).click();
  await page.getByRole('dialog').getByRole('link', { name: 'Open in the playground' }).click();
  await page.getByText(/the content of request req_\w+ are filled in/).waitFor();
  expect(await page.getByLabel('Message').inputValue()).toBe('What is the capital of Norway?');
  expect(await page.getByRole('combobox', { name: 'Protocol' }).inputValue()).toBe('Chat Completions');
  await page.getByRole('button', { name: 'Settings' }).click();
  expect(await page.getByLabel('Instructions').inputValue()).toBe('Answer in one word.');
  // Another page of the browser does not know what was in it.
  await page.reload();
  await page.getByText(/^The content of request req_\w+ is not stored/).waitFor();
  expect(await page.getByLabel('Message').inputValue()).toBe('');
  await page.getByRole('button', { name: 'Close this note' }).click();
  await page.waitForURL((url) => !url.search.includes('from='));
});

test('a stored background response opens in the playground with its content', async () => {
  const { page } = person;
  const headers = { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' };
  const body = { model: 'gpt-5.2', input: 'A stored question.', instructions: 'Be kind.', background: true };
  const url = `${running.stack.edgeUrl}/v1/responses`;
  const made = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const response = z.looseObject({ id: z.string() }).parse(await made.json());
  const id = response.id.replace('resp_', 'job_');
  await waitFor(async () => {
    const read = await fetch(`${running.url}/admin/v1/requests/${id}`, {
      headers: { authorization: `Bearer ${running.stack.adminToken}` },
    });
    return read.ok;
  });
  await page.goto(`/console/requests?request=${id}`);
  await page.getByRole('dialog').getByRole('link', { name: 'Open in the playground' }).click();
  await page.getByText(/the content of request .* are filled in/).waitFor();
  expect(await page.getByLabel('Message').inputValue()).toBe('A stored question.');
});

test('a comparison is shared as a link with its answers, and exported as code for all of its models', async () => {
  const { page } = person;
  await open({ models: ['gpt-5.2', 'claude-sonnet-5'], temperature: 0.5 });
  await say(page, 'Compare <these> two.');
  for (const model of ['gpt-5.2', 'claude-sonnet-5'])
    await conversation(page, model).getByText('You said: Compare <these> two.').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();

  await page.getByRole('button', { name: 'Export code' }).click();
  for (const [language, contents] of [
    [
      'curl',
      ["for model in 'gpt-5.2' 'claude-sonnet-5'; do", `"model": "'"$model"'"`, 'Compare <these> two.'],
    ],
    ['Python', ['for model in ["gpt-5.2", "claude-sonnet-5"]:', 'model=model,', 'temperature=0.5']],
    [
      'TypeScript',
      ['for (const model of ["gpt-5.2", "claude-sonnet-5"]) {', '    model,', 'temperature: 0.5'],
    ],
  ] as const) {
    await page.getByRole('tab', { name: language, exact: true }).click();
    const code = await page.getByLabel(`The request in ${language}`, { exact: true }).textContent();
    for (const content of contents) expect(code).toContain(content);
  }
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'Share' }).click();
  const link = page.getByRole('dialog').getByLabel('Link', { exact: true });
  const address = (await link.textContent()) ?? '';
  expect(new URL(address).search).not.toContain('Compare');
  const other = await running.open();
  other.page.setDefaultTimeout(PATIENCE_MS);
  await other.signIn('ben');
  await other.page.goto(address);
  await other.page.getByText('Shared comparison').waitFor();
  await other.page
    .getByRole('region', { name: 'Shared answer of claude-sonnet-5' })
    .getByText('You said: Compare <these> two.')
    .waitFor();
  expect(await other.page.getByLabel('Message').inputValue()).toBe('Compare <these> two.');
  await other.page.goto(address.slice(0, -9));
  await other.page.reload();
  await other.page.getByText('This link cannot be read').waitFor();
  expect(other.problems).toEqual([]);
  await other.page.context().close();
});

test('the holder of a key plays with that key, and has no other to choose', async () => {
  const { page } = await running.open();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto('/console/');
  await page.getByText('Key', { exact: true }).click();
  await page.getByLabel('Your key').fill(key.key);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Playground' }).click();
  await say(page, 'Hello from a holder.');
  await page.getByText('You said: Hello from a holder.').waitFor();
  await page.getByText(/^cost /).waitFor();
  expect(await page.getByLabel('Key', { exact: true }).count()).toBe(0);
  await page.context().close();
});

/** The width that a picture really has; 0 for one that could not be shown. */
const naturalWidth = (page: Page): Promise<unknown> =>
  page.evaluate('document.querySelector("figure img").naturalWidth');

test('an image is made, shown and offered for download; a job is followed to its image', async () => {
  const { page } = person;
  await open({ family: 'images', models: ['dall-e-3'], size: '1024x1024' });
  await page.getByLabel('Prompt').fill('A lighthouse');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('link', { name: 'Download image-1.png' }).waitFor();
  expect(await naturalWidth(page)).toBe(1024);
  await page.getByText(/^cost \$0\.04/).waitFor();
  await page.getByRole('switch', { name: 'As a job' }).click();
  await page.getByRole('button', { name: 'Create images' }).click();
  const job = page.getByRole('region', { name: 'Request 2' });
  await job.getByRole('link', { name: /^job_/ }).waitFor();
  await job.getByText('completed', { exact: true }).waitFor();
  await job.getByRole('link', { name: 'Download image-1.png' }).waitFor();
});

/** A request for a streamed picture of two partial images, of which the provider sends the first one alone. */
async function askForStream(page: Page) {
  await open({ family: 'images', models: ['gpt-image-1.5'], size: '1024x1024', stream: true });
  await page.getByLabel('Prompt').fill('A lighthouse');
  await page.keyboard.press('Control+Enter');
  const request = page.getByRole('region', { name: 'Request 1' });
  await request.getByRole('img', { name: 'Unfinished: 1' }).waitFor();
  return request;
}

test('a streamed image is shown while it is made, and its code streams it too', async () => {
  const { page } = person;
  const gate = createGate();
  running.simulator.script('/v1/images/generations', { stallAfter: 1, resume: gate.opened });
  const request = await askForStream(page);
  await request.getByText('Partial image 1').waitFor();
  await waitFor(async () => (await naturalWidth(page)) === 1024);
  expect(await request.getByRole('link', { name: /^Download/ }).count()).toBe(0);
  gate.open();
  await request.getByRole('link', { name: 'Download image-1.png' }).waitFor();
  expect(await request.getByRole('img').count()).toBe(1);
  await waitFor(async () => (await naturalWidth(page)) === 1024);
  await request.getByRole('button', { name: 'Code' }).click();
  for (const [language, contents] of [
    ['curl', ['curl -N', '"stream": true', '"partial_images": 2']],
    ['Python', ['stream=True', 'partial_images=2', 'for at, event in enumerate(answer):']],
    ['TypeScript', ['stream: true', 'partial_images: 2', 'for await (const { type, b64_json } of answer)']],
  ] as const) {
    await page.getByRole('tab', { name: language, exact: true }).click();
    const code = await page.getByLabel(`The request in ${language}`, { exact: true }).textContent();
    for (const content of contents) expect(code).toContain(content);
  }
});

test('a streamed edit shows its partial images; a stream is no job', async () => {
  const { page } = person;
  const gate = createGate();
  running.simulator.script('/v1/images/edits', { stallAfter: 2, resume: gate.opened });
  await open({ family: 'images', models: ['gpt-image-1.5'], job: true });
  await page.getByRole('switch', { name: 'Stream' }).click();
  expect(await page.getByRole('switch', { name: 'As a job' }).isChecked()).toBe(false);
  await page.getByLabel('Partial images').fill('3');
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'picture.png', mimeType: 'image/png', buffer: await squarePng(page, 256) });
  await page.getByLabel('What to change').fill('Add a rainbow');
  await page.getByRole('button', { name: 'Edit image' }).click();
  await page.getByText('Partial image 2').waitFor();
  gate.open();
  await page.getByRole('link', { name: 'Download image-1.png' }).waitFor();
  const request = await running.simulator.nextRequest(({ path }) => path === '/v1/images/edits');
  expect((await request.form()).get('partial_images')).toBe('3');
});

test('a streamed image that is stopped, or that breaks, keeps what has come of it', async () => {
  const { page } = person;
  running.simulator.script('/v1/images/generations', { stallAfter: 1, resume: createGate().opened });
  const stopped = await askForStream(page);
  await stopped.getByRole('button', { name: 'Stop' }).click();
  await stopped.getByText('Stopped.').waitFor();
  const sent = await running.simulator.nextRequest(({ path }) => path === '/v1/images/generations');
  expect(await sent.closed).toBe('aborted');
  expect(await stopped.getByRole('img', { name: 'Unfinished: 1' }).count()).toBe(1);

  running.simulator.script('/v1/images/generations', { errorEventAfter: 1 });
  await page.getByRole('button', { name: 'Create images' }).click();
  const broken = page.getByRole('region', { name: 'Request 2' });
  await broken
    .getByRole('alert')
    .getByText(/server_error$/)
    .waitFor();
  await broken.getByRole('img', { name: 'Unfinished: 1' }).waitFor();
});

test('what is painted on a picture reaches the provider as a transparent part of the mask', async () => {
  const { page } = person;
  await open({ family: 'images', models: ['gpt-image-1.5'] });
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'picture.png', mimeType: 'image/png', buffer: await squarePng(page, 256) });
  const canvas = page.locator('canvas');
  const box = await canvas.boundingBox();
  if (box === null) throw new Error('the picture is not shown');
  await page.mouse.move(box.x + box.width * 0.75, box.y + box.height * 0.6);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + box.height * 0.9, { steps: 4 });
  await page.mouse.up();
  for (const [name, value] of Object.entries({ Left: 0, Top: 0, Width: 64, Height: 64 }))
    await page.getByLabel(name).fill(String(value));
  await page.getByRole('button', { name: 'Add rectangle' }).click();
  await page.getByLabel('What to change').fill('Add a rainbow');
  await page.getByRole('button', { name: 'Edit image' }).click();
  await page.getByRole('link', { name: 'Download image-1.png' }).waitFor();

  const request = await running.simulator.nextRequest(({ path }) => path === '/v1/images/edits');
  const mask = (await request.form()).get('mask');
  if (!(mask instanceof File)) throw new Error('the provider got no mask');
  const alphas = await alphasOf(page, Buffer.from(await mask.arrayBuffer()), [
    [192, 192], // painted
    [32, 32], // in the rectangle
    [32, 192], // neither
  ]);
  expect(alphas).toEqual([0, 0, 255]);
});

/** A picture that the browser draws. */
async function squarePng(page: Page, size: number): Promise<Buffer> {
  const base64 = await page.evaluate(`(() => {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = ${size};
    canvas.getContext('2d').fillRect(0, 0, ${size}, ${size});
    return canvas.toDataURL('image/png').split(',')[1];
  })()`);
  return Buffer.from(z.string().parse(base64), 'base64');
}

/** The alpha of some pixels of a PNG, as the browser reads it. */
async function alphasOf(
  page: Page,
  png: Buffer,
  points: readonly (readonly [number, number])[],
): Promise<unknown> {
  return page.evaluate(`(async () => {
    const bytes = Uint8Array.from(atob('${png.toString('base64')}'), (one) => one.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const canvas = document.createElement('canvas');
    canvas.width = picture.width;
    canvas.height = picture.height;
    const context = canvas.getContext('2d');
    context.drawImage(picture, 0, 0);
    return ${JSON.stringify(points)}.map(([x, y]) => context.getImageData(x, y, 1, 1).data[3]);
  })()`);
}

test('a text is spoken: the sound has a length and can be downloaded', async () => {
  const { page } = person;
  await open({ family: 'speech', format: 'wav' });
  await page.getByLabel('Text to speak').fill('Good morning to everyone.');
  await page.getByRole('button', { name: 'Speak' }).click();
  await page.getByRole('link', { name: /^Download speech\.wav/ }).waitFor();
  // Not `waitForFunction`, which asks again within the page, where its policy forbids `eval`.
  await waitFor(async () => Number(await page.evaluate('document.querySelector("audio").duration')) > 1);
  await page.getByText(/^cost \$0\.0/).waitFor();
});

test('a recording is written down as it comes', async () => {
  const { page } = person;
  await open({ family: 'transcription', stream: true, language: 'en' });
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'recording.mp3', mimeType: 'audio/mpeg', buffer: await spoken() });
  await page.getByRole('button', { name: 'Transcribe' }).click();
  await page.getByText(/^The beach was a popular spot/).waitFor();
  await page.getByText(/^cost \$0\.0/).waitFor();
  await page.getByRole('button', { name: 'Raw events' }).click();
  await page
    .getByRole('region', { name: 'Raw events' })
    .getByText(/transcript\.text\.done/)
    .waitFor();
});

test('what the microphone hears is written down', async () => {
  const { page } = person;
  await page.context().grantPermissions(['microphone']);
  await open({ family: 'transcription' });
  await page.getByRole('button', { name: 'Record', exact: true }).click();
  await page.getByRole('button', { name: 'Stop recording: 1 s' }).click();
  await page.getByText(/^recording\.(?:webm|ogg|mp4)$/).waitFor();
  await page.getByRole('button', { name: 'Transcribe' }).click();
  await page.getByText(/^The beach/).waitFor();
});

test('where the microphone is not allowed the page says what to do', async () => {
  const { page } = person;
  await open({ family: 'transcription' });
  await page.getByRole('button', { name: 'Record', exact: true }).click();
  await page
    .getByRole('alert')
    .getByText(/choose a file/i)
    .waitFor();
});

/** A sound of a few seconds. */
async function spoken(): Promise<Buffer> {
  const response = await fetch(`${running.stack.edgeUrl}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-4o-mini-tts',
      input: 'A sentence that takes a few seconds.',
      voice: 'alloy',
    }),
  });
  return Buffer.from(await response.arrayBuffer());
}

test('axe finds nothing serious in a conversation, light or dark, which fits a phone', async () => {
  const { page } = person;
  await page.setViewportSize({ width: 360, height: 740 });
  await open({ models: ['gpt-5.2', 'no-such-model'], effort: 'low' });
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByLabel('Tools').fill(JSON.stringify([WEATHER_TOOL]));
  await say(page, 'use tool get_weather');
  await page.getByLabel('Result of get_weather').waitFor();
  await page.getByRole('alert').waitFor();
  await page
    .getByText(/^cost /)
    .first()
    .waitFor();
  const found: unknown[] = [];
  const analyze = async (): Promise<void> => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await showIn(page, colorScheme);
      found.push(...(await seriousViolations(page)));
    }
  };
  await analyze();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  await page.getByRole('button', { name: 'Raw events' }).first().click();
  await page.getByRole('region', { name: 'Raw events' }).getByRole('button').first().click();
  await analyze();
  expect(found).toEqual([]);
});

test('a person converses with a realtime model in writing, and hangs up', async () => {
  const { page } = person;
  await open({ family: 'voice', models: ['gpt-realtime'] });
  await page.getByText('Written', { exact: true }).click();
  await page.getByLabel('Instructions').fill('Be brief.');
  await page.getByRole('button', { name: 'Start session' }).click();
  await say(page, 'Good morning.');
  const conversed = page.getByRole('log', { name: 'Conversation' });
  await conversed.getByText('It is a simulated voice.').waitFor();
  await conversed.getByText('Good morning.').waitFor();
  await conversed.getByText(/^[1-9]\d* input tokens, 6 output tokens/).waitFor();
  const [session] = running.simulator.realtime.sessions;
  expect(session?.events[0]).toMatchObject({ session: { type: 'realtime' } });
  expect(session?.events).toContainEqual({
    type: 'session.update',
    session: { type: 'realtime', output_modalities: ['text'], instructions: 'Be brief.' },
  });
  await page.getByRole('button', { name: 'End session' }).click();
  await page.getByRole('button', { name: 'Start session' }).waitFor();
  await session?.closed;
});

test('a realtime model hears the microphone, and is heard', async () => {
  const { page } = person;
  await page.context().grantPermissions(['microphone']);
  await open({ family: 'voice', models: ['gpt-realtime'] });
  await page.getByRole('button', { name: 'Start session' }).click();
  await page.getByRole('button', { name: 'Turn on microphone' }).click();
  await page.getByRole('button', { name: 'Turn off microphone' }).waitFor();
  const heard = await waitFor(() =>
    running.simulator.realtime.sessions[0]?.events.find(({ type }) => type === 'input_audio_buffer.append'),
  );
  // A tenth of a second, of 16 bits at 24 kHz.
  expect(Buffer.from(String(heard.audio), 'base64')).toHaveLength(4800);
  await page.getByRole('button', { name: 'Turn off microphone' }).click();
  await say(page, 'Are you there?');
  await page.getByRole('log').getByText('It is a simulated voice.').waitFor();
  // Who goes to another page hangs up.
  await page.getByRole('tab', { name: 'Text' }).click();
  await running.simulator.realtime.sessions[0]?.closed;
});

test('why there is no session is said', async () => {
  const { page } = person;
  await open({ family: 'voice', models: ['unknown-voice'] });
  await page.getByRole('button', { name: 'Start session' }).click();
  await page
    .getByRole('log')
    .getByText(/unknown-voice/)
    .waitFor();
  await page.getByRole('button', { name: 'Start session' }).waitFor();
});
