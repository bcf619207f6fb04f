import { BLOCKED, type HookServer, intervened, startHookServer } from '@gateway/testkit/start-hook-server';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { configurationText, startImage, type TestImage } from '../testing/start-image.ts';

let hook: HookServer;
let image: TestImage;
beforeAll(async () => {
  hook = await startHookServer();
  image = await startImage({
    configuration: (url) =>
      `${configurationText(url)}
hooks: { guard: { kind: generic, baseUrl: "${hook.url}", rules: [{ models: [dall-e-2, "gpt-image-*"] }] } }
`,
  });
  await image.startWorker();
});
afterAll(async () => {
  await image.close();
  await hook[Symbol.asyncDispose]();
});
afterEach(() => {
  hook.reset();
  image.reset();
});

const dallE2 = { model: 'dall-e-2', prompt: 'a cat of Ada', size: '256x256' } as const;

test('a blocked prompt is a 400 that costs nothing, and reaches no provider', async () => {
  hook.answer(() => BLOCKED);
  await expect(image.client.images.generate(dallE2)).rejects.toMatchObject({
    status: 400,
    code: 'content_filter',
    message: expect.stringContaining("blocked by the check 'guard'"),
  });
  expect(image.simulator.requests).toHaveLength(0);
  const [job] = await waitFor(() => (image.jobs.length > 0 ? image.jobs : undefined));
  expect(job?.error?.code).toBe('guardrail_blocked');
});

test('a provider gets the prompt that the hook has made', async () => {
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replace('Ada', '[NAME]'))));
  await image.client.images.generate(dallE2);
  expect((await image.simulator.nextRequest()).json()).toMatchObject({ prompt: 'a cat of [NAME]' });
  expect(hook.requests[0]?.body).toMatchObject({ texts: ['a cat of Ada'], model: 'dall-e-2' });
});

test("the prompt of an edit is checked, and other models' are not", async () => {
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replace('Ada', '[NAME]'))));
  const source = await image.client.images.generate({ ...dallE2, response_format: 'b64_json' });
  const bytes = Buffer.from(String(source.data?.[0]?.b64_json), 'base64');
  const file = new File([bytes], 'a.png', { type: 'image/png' });
  await image.client.images.edit({ model: 'gpt-image-1.5', image: file, prompt: 'with Ada' });
  expect(image.simulator.requests.at(-1)?.form()).toBeDefined();
  expect(String(image.simulator.requests.at(-1)?.body)).toContain('with [NAME]');
  await image.client.images.generate({ model: 'dall-e-3', prompt: 'a cat of Ada' });
  expect(hook.requests).toHaveLength(2);
});
