import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startImage, type TestImage } from './testing/start-image.ts';

let image: TestImage;
beforeAll(async () => {
  image = await startImage();
  await image.startWorker();
});
beforeEach(() => image.reset());
afterAll(() => image.close());

const dallE2 = { model: 'dall-e-2', prompt: 'a cat', size: '256x256' } as const;

test('an image URL ends after sixty minutes, and with any change to it', async () => {
  const { data } = await image.client.images.generate(dallE2);
  const url = String(data?.[0]?.url);
  expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  for (const altered of [
    url.slice(0, -1),
    url.replace('.png', '.jpg'),
    url.replace(/expires=\d/, 'expires=9'),
    url.split('?')[0] ?? '',
  ]) {
    const refused = await fetch(altered);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ error: { code: 'asset_forbidden' } });
  }
  image.clock.offsetMs = 3_500_000;
  expect((await fetch(url)).status).toBe(200);
  image.clock.offsetMs = 3_601_000;
  expect((await fetch(url)).status).toBe(403);
});

test('a HEAD of an image says its type and size, and nothing else', async () => {
  const { data } = await image.client.images.generate(dallE2);
  const url = String(data?.[0]?.url);
  const [head, whole] = [await fetch(url, { method: 'HEAD' }), await fetch(url)];
  const { byteLength } = await whole.arrayBuffer();
  expect(head.headers.get('content-length')).toBe(String(byteLength));
  expect(head.headers.get('content-type')).toBe('image/png');
  expect(await head.text()).toBe('');
});
