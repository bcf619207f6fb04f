import { afterAll, beforeAll, expect, test } from 'vitest';
import { startImage, type TestImage } from '../testing/start-image.ts';

const CONFIGURATION = (url: string) => `
channels:
  bedrock: { provider: bedrock, region: us-east-1, baseUrl: "${url}", apiKey: sk-of-bedrock }
models:
  nova: { kind: image, price: { perImage: 0.04 }, routes: [{ channel: bedrock, model: "amazon.nova-canvas-v1:0" }] }
`;

let image: TestImage;
beforeAll(async () => {
  image = await startImage({ configuration: CONFIGURATION });
  await image.startWorker();
});
afterAll(() => image.close());

test('images of Bedrock are hosted and charged by the image; those that are filtered cost nothing', async () => {
  const reply = await image.generate({ model: 'nova', prompt: 'A lighthouse', n: 3, size: '1024x1024' });
  expect(reply.status).toBe(200);
  expect(Object(await reply.json()).data).toHaveLength(3);
  expect(reply.headers.get('x-gateway-channel')).toBe('bedrock');
  expect(await image.lastLine()).toMatchObject({ images: 3, costMicroUsd: 120_000 });
  const filtered = await image.generate({ model: 'nova', prompt: 'Some forbidden words' });
  expect(filtered.status).toBe(400);
  expect(await filtered.json()).toMatchObject({ error: { code: 'moderation_blocked' } });
});
