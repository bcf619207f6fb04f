import { replay } from '@gateway/upstream/libraries/replay-for-tests';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { pngFile } from '../testing/image-files.ts';
import { startImage, type TestImage } from '../testing/start-image.ts';

let image: TestImage;
beforeAll(async () => {
  image = await startImage();
  await image.startWorker();
});
beforeEach(() => image.reset());
afterAll(() => image.close());

/** From here on the channels lead to a provider that answers as it was recorded. */
async function provider(exchange: string) {
  const replayed = await replay(exchange);
  image.useProvider(replayed.origin);
  return replayed;
}

const Hosted = z.object({ data: z.array(z.object({ url: z.string() })) });
const FLUX = { model: 'flux-task', prompt: 'A lighthouse', size: '1024x768', output_format: 'png', seed: 7 };

test('an image that a provider makes as a task is hosted, charged, and lacks what it has no parameter for', async () => {
  const recorded = await provider('black-forest-labs-image');
  const reply = await image.generate({ ...FLUX, quality: 'high' });
  const { data } = Hosted.parse(await reply.json());
  expect(await image.lastLine()).toMatchObject({ images: 1, costMicroUsd: 40_000 });
  expect(data).toEqual([{ url: expect.stringContaining('/v1/images/assets/') }]);
  expect((await fetch(data[0]?.url ?? '')).headers.get('content-type')).toBe('image/png');
  expect(reply.headers.get('x-gateway-dropped')).toBe('quality');
  expect(reply.headers.get('x-gateway-channel')).toBe('flux');
  expect(recorded.complaints).toEqual([]);
  expect(recorded.left).toEqual([]);
});

test('what would be left out is refused where the caller is strict', async () => {
  const recorded = await provider('black-forest-labs-image');
  const headers = { 'content-type': 'application/json', 'x-gateway-strict': 'true', ...image.headersFor() };
  const reply = await image.generate({ ...FLUX, quality: 'high' }, { headers });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: 'quality' } });
  expect(recorded.requests).toEqual([]);
});

test('a request that a provider moderates is refused in the protocol, and costs nothing', async () => {
  await provider('black-forest-labs-moderated');
  const reply = await image.generate(FLUX);
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: 'moderation_blocked' } });
});

test('tokens are charged as the provider reports them', async () => {
  await provider('google-image');
  const body = { model: 'nano-banana', prompt: 'A lighthouse', size: '1536x1024', seed: 7 };
  const reply = await image.generate({ ...body, response_format: 'b64_json' });
  expect(await reply.json()).toMatchObject({
    data: [{ b64_json: expect.any(String) }],
    usage: { input_tokens: 9, output_tokens: 1290 },
  });
  expect(await image.lastLine()).toMatchObject({ costMicroUsd: Math.ceil(9 * 0.3 + 1290 * 30) });
});

test.for(['mask', 'markup'])('a %s is refused where no route can take it', async (part) => {
  const recorded = await provider('google-edit');
  const reply = await image.edit([
    ['model', 'nano-banana'],
    ['prompt', 'Add a rainbow'],
    ['image', pngFile()],
    [part, pngFile()],
  ]);
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: part } });
  expect(recorded.requests).toEqual([]);
});
