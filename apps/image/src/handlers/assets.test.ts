import { signAssetUrl } from '@gateway/jobs/files/asset-url';
import { SECRET } from '@gateway/model-service/testing/media-options';
import { startS3, type TestS3 } from '@gateway/testkit/start-s3';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startImage, type TestImage } from '../testing/start-image.ts';

let image: TestImage;
let s3: TestS3;
/** Its images lie in an S3 store that callers can reach. */
let fromStore: TestImage;
beforeAll(async () => {
  s3 = await startS3();
  image = await startImage();
  const { endpoint, bucket, region, credentials } = s3;
  const files = { url: `s3://${bucket}/images`, endpoint, publicEndpoint: endpoint, region, credentials };
  fromStore = await startImage({ files });
  await Promise.all([image.startWorker(), fromStore.startWorker()]);
});
beforeEach(() => image.reset());
afterAll(async () => {
  await image.close();
  await fromStore.close();
  await s3.close();
});

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

test('a HEAD of an image gives its type and size, and nothing else', async () => {
  const { data } = await image.client.images.generate(dallE2);
  const url = String(data?.[0]?.url);
  const [head, whole] = [await fetch(url, { method: 'HEAD' }), await fetch(url)];
  const { byteLength } = await whole.arrayBuffer();
  expect(head.headers.get('content-length')).toBe(String(byteLength));
  expect(head.headers.get('content-type')).toBe('image/png');
  expect(await head.text()).toBe('');
});

test('an image can be fetched in parts, and one that is known need not be fetched again', async () => {
  const { data } = await image.client.images.generate(dallE2);
  const url = String(data?.[0]?.url);
  const whole = await fetch(url);
  const bytes = Buffer.from(await whole.arrayBuffer());
  const etag = String(whole.headers.get('etag'));
  expect(whole.headers.get('accept-ranges')).toBe('bytes');
  expect(whole.headers.get('content-disposition')).toMatch(/^inline; filename="job_[0-9a-f]+-0\.png"$/);
  const get = (headers: Record<string, string>) => fetch(url, { headers });
  for (const [range, start, end] of [
    ['bytes=0-9', 0, 9],
    ['bytes=10-', 10, bytes.length - 1],
    ['bytes=-5', bytes.length - 5, bytes.length - 1],
    ['bytes=5-99999999', 5, bytes.length - 1],
  ] as const) {
    const part = await get({ range });
    expect(part.status).toBe(206);
    expect(part.headers.get('content-range')).toBe(`bytes ${start}-${end}/${bytes.length}`);
    expect(part.headers.get('content-length')).toBe(String(end - start + 1));
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(start, end + 1))).toBe(true);
  }
  for (const range of ['bytes=0-1,5-6', 'lines=0-1', 'bytes=x']) {
    const reply = await get({ range });
    expect([reply.status, (await reply.arrayBuffer()).byteLength]).toEqual([200, bytes.length]);
  }
  expect((await get({ range: 'bytes=0-1', 'if-range': etag })).status).toBe(206);
  expect((await get({ range: 'bytes=0-1', 'if-range': '"another"' })).status).toBe(200);
  const beyond = await get({ range: 'bytes=99999999-' });
  expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${bytes.length}`]);
  expect(await beyond.json()).toMatchObject({ error: { code: 'range_not_satisfiable' } });
  // By default, fetch requests a fresh copy with every condition.
  const known = await get({ 'if-none-match': etag, 'cache-control': 'max-age=0' });
  expect([known.status, await known.text()]).toEqual([304, '']);
  expect((await get({ 'if-none-match': '"another"' })).status).toBe(200);
});

test('a range is refused without a signature, and nothing else in the store is handed out', async () => {
  const { data } = await image.client.images.generate(dallE2);
  const url = new URL(String(data?.[0]?.url));
  const unsigned = await fetch(`${url.origin}${url.pathname}`, { headers: { range: 'bytes=0-1' } });
  expect(unsigned.status).toBe(403);
  const [jobId] = /job_[0-9a-f]+/.exec(url.pathname) ?? [''];
  const signed = (id: string) => signAssetUrl({ publicUrl: image.url, secret: SECRET, id, now: Date.now() });
  expect((await fetch(signed(`${jobId}-output.json`))).status).toBe(404);
  expect((await fetch(signed(`${jobId}-9.png`))).status).toBe(404);
});

test('where callers can reach the store they are sent there, with a URL that is signed and short-lived', async () => {
  const { data } = await fromStore.client.images.generate(dallE2);
  const url = String(data?.[0]?.url);
  const sent = await fetch(url, { redirect: 'manual' });
  expect([sent.status, sent.headers.get('cache-control')]).toEqual([302, 'no-store']);
  const location = new URL(String(sent.headers.get('location')));
  expect(location.origin).toBe(s3.endpoint);
  expect(Number(location.searchParams.get('X-Amz-Expires'))).toBeLessThanOrEqual(300);
  const followed = await fetch(url);
  expect(followed.headers.get('content-type')).toBe('image/png');
  expect(followed.headers.get('content-disposition')).toMatch(/^inline; filename="job_/);
  expect((await followed.arrayBuffer()).byteLength).toBeGreaterThan(100);
  expect((await fetch(`${url}x`, { redirect: 'manual' })).status).toBe(403);
  const head = await fetch(url, { method: 'HEAD', redirect: 'manual' });
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'image/png']);
});
