import { PublicJob } from '@gateway/contracts/jobs';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startImage, type TestImage } from '../testing/start-image.ts';

/** For how long the results of named jobs are kept, and that they count for their key. */

let image: TestImage;
let keys = 0;
let keyId: string;
beforeAll(async () => {
  image = await startImage();
  await image.startWorker();
});
beforeEach(() => {
  image.reset();
  keys += 1;
  keyId = `key_${keys}`;
});
afterAll(() => image.close());

const bytes = { model: 'dall-e-3', prompt: 'a cat', response_format: 'b64_json' };
const streamed = { model: 'gpt-image-1.5', prompt: 'a cat', stream: true };
const DAY_SECONDS = 86_400;

/** A caller whose key may keep so many bytes. */
const post = (body: unknown, headers: Record<string, string> = {}, keptResultBytes = 1_000_000_000) =>
  image.call('/v1/images/generations', {
    method: 'POST',
    headers: {
      ...image.headersFor({ keyId, jobShare: { keptResultBytes } }),
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
  });
const get = (path: string) => image.call(path, { keyId });
const jobAt = async (path: string) => PublicJob.parse(await (await get(path)).json());
const pathOf = (reply: Response) => `/v1/images/jobs/${reply.headers.get('x-gateway-job')}`;
const filesOf = async (path: string) =>
  (await image.assetFiles()).filter((name) => name.startsWith(path.split('/').at(-1) ?? ''));

/** Resolves to the job's path. */
async function endedJob(headers: Record<string, string> = {}, body: unknown = bytes): Promise<string> {
  const path = pathOf(await post(body, { prefer: 'respond-async', ...headers }));
  await waitFor(async () => (await jobAt(path)).finished_at !== null);
  return path;
}

/** For how many seconds a result is kept that somebody has just got. */
async function leftAfterDelivery(path: string): Promise<number> {
  const secondsLeft = async () => ((await jobAt(path)).expires_at ?? 0) - Date.now() / 1000;
  return waitFor(async () => {
    const left = await secondsLeft();
    return left < DAY_SECONDS - 60 && left;
  });
}

test.for([
  ['bytes', 'b64_json', 10],
  ['URLs', 'url', 65],
] as const)('a result that was fetched as %s is kept for a shorter time', async ([, format, minutes]) => {
  const path = await endedJob({}, { ...bytes, response_format: format });
  await (await get(`${path}/result`)).text();
  const left = await leftAfterDelivery(path);
  expect(left).toBeGreaterThan((minutes - 1) * 60);
  expect(left).toBeLessThanOrEqual(minutes * 60);
  expect((await get(`${path}/result`)).status).toBe(200);
});

test('a result that a waiting caller or a stream has got is kept for a shorter time', async () => {
  for (const reply of [await post(bytes), await post(streamed)]) {
    await reply.text();
    expect(await leftAfterDelivery(pathOf(reply))).toBeLessThanOrEqual(600);
  }
});

test('a result with an idempotency key is kept for a day from its request, also after its delivery', async () => {
  const path = await endedJob({ 'idempotency-key': `cat-${keyId}` });
  const { created_at: createdAt, expires_at: before } = await jobAt(path);
  await (await get(`${path}/result`)).text();
  // Another result that is delivered after it shows that the delivery has been noted.
  const other = await endedJob();
  await (await get(`${other}/result`)).text();
  await leftAfterDelivery(other);
  const { expires_at: after } = await jobAt(path);
  expect(before).toBeGreaterThanOrEqual(createdAt + DAY_SECONDS);
  expect(after).toBe(createdAt + DAY_SECONDS);
  const again = await post(bytes, { 'idempotency-key': `cat-${keyId}` });
  expect(pathOf(again)).toBe(path);
});

test('a removed result is gone with its files, and its job shows it', async () => {
  const path = await endedJob();
  expect(await filesOf(path)).toHaveLength(2);
  await image.call(path, { method: 'DELETE', keyId });
  expect(await filesOf(path)).toEqual([]);
  expect(await jobAt(path)).toMatchObject({ status: 'completed', expires_at: null });
  expect((await get(`${path}/result`)).status).toBe(410);
});

test('results that nobody has got keep a key from queueing and from streaming, and others not', async () => {
  const path = await endedJob();
  for (const body of [bytes, streamed]) {
    const refused = await post(body, {}, 1);
    expect([refused.status, refused.headers.get('x-gateway-job')]).toEqual([429, null]);
    expect(await refused.json()).toMatchObject({ error: { code: 'result_quota_exhausted' } });
  }
  expect(image.simulator.requests).toHaveLength(1);
  // Delivered results are removed for new ones.
  await (await get(`${path}/result`)).text();
  await leftAfterDelivery(path);
  const reply = await post(streamed, {}, 1);
  expect(reply.status).toBe(200);
  await reply.text();
  expect(await filesOf(path)).toEqual([]);
});
