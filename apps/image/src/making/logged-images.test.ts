import { BLOCKED, type HookServer, intervened, startHookServer } from '@gateway/testkit/start-hook-server';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { configurationText, startImage, type TestImage } from '../testing/start-image.ts';

let hook: HookServer;
let image: TestImage;
beforeAll(async () => {
  hook = await startHookServer();
  image = await startImage({
    configuration: (url) =>
      `${configurationText(url)}
hooks: { guard: { kind: generic, baseUrl: "${hook.url}", rules: [{ models: [dall-e-2] }] } }
contentLog:
  rules:
    - { models: [dall-e-3], mayOptOut: true }
    - { models: [dall-e-2, gpt-image-1.5] }
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

const generate = (body: object, headers: Record<string, string> = {}) =>
  image.generate(body, {
    headers: { 'content-type': 'application/json', ...image.headersFor({ keyId: 'key_log' }), ...headers },
  });
const requestIdOf = (reply: Response) => String(reply.headers.get('x-request-id'));
const Images = z.object({ data: z.array(z.object({ b64_json: z.string() })) });
const prompt = 'a cat of ann@example.com';

test('a prompt and where its images lie are logged, and the usage record says where', async () => {
  const body = { model: 'dall-e-3', prompt, size: '1024x1024', user: 'ann' };
  const reply = await generate(body);
  expect(reply.status).toBe(200);
  const [record] = await image.logged(requestIdOf(reply));
  expect(record).toMatchObject({
    ...{ endpoint: 'images', model: 'dall-e-3', channel: 'one', keyId: 'key_log', endUser: 'ann' },
    request: { ...body, prompt: 'a cat of [email]' },
    answer: {
      data: [{ asset_id: expect.any(String), content_type: 'image/png', bytes: expect.any(Number) }],
    },
    redacted: { email: expect.any(Number) },
  });
  const [usage] = await image.accounted('key_log', 1);
  expect(usage).toMatchObject({ id: record?.id, detail: { contentObject: expect.stringMatching(/\.gz$/) } });
});

test('the prompt of an edit is logged as hooks have made it, and its files by what they are', async () => {
  hook.answer(({ texts }) => intervened(texts.map(() => 'a dog')));
  const source = await generate({ model: 'dall-e-2', prompt, response_format: 'b64_json', size: '256x256' });
  expect(await image.logged(requestIdOf(source))).toMatchObject([{ request: { prompt: 'a dog' } }]);
  const bytes = Buffer.from(String(Images.parse(await source.json()).data[0]?.b64_json), 'base64');
  const reply = await image.edit([
    ['model', 'gpt-image-1.5'],
    ['prompt', 'with a hat'],
    ['image', new File([bytes], 'a.png', { type: 'image/png' })],
  ]);
  expect(await image.logged(requestIdOf(reply))).toMatchObject([
    {
      request: {
        prompt: 'with a hat',
        image: [{ file_name: 'a.png', content_type: 'image/png', bytes: bytes.length }],
      },
    },
  ]);
  expect((await waitFor(() => image.jobs.at(0)))?.usage?.detail?.hooks).toContain('guard/input=replaced');
});

test('what is blocked is not logged, and what a provider refuses is, with its error', async () => {
  hook.answer(() => BLOCKED);
  const blocked = await generate({ model: 'dall-e-2', prompt, size: '256x256' });
  hook.reset();
  image.simulator.script({ status: 400 });
  const refused = await generate({ model: 'dall-e-2', prompt, size: '256x256' });
  expect([blocked.status, refused.status]).toEqual([400, 400]);
  expect(await image.logged(requestIdOf(refused))).toMatchObject([
    { answer: null, error: { code: expect.any(String) } },
  ]);
  expect(await image.logged(requestIdOf(blocked), 0)).toEqual([]);
});

test('a caller keeps images out of the log where the rule allows it, and is told where it does not', async () => {
  const off = { 'x-gateway-content-log': 'off' };
  const left = await generate({ model: 'dall-e-3', prompt }, off);
  const refused = await generate({ model: 'gpt-image-1.5', prompt }, off);
  expect([left.status, refused.status]).toEqual([200, 403]);
  const omitted = async () =>
    (await image.accounted('key_log', 1)).find(({ requestId }) => requestId === requestIdOf(left))?.detail;
  expect(await waitFor(omitted)).toMatchObject({ contentOmitted: 'caller' });
  expect(await image.logged(requestIdOf(left), 0)).toEqual([]);
});
