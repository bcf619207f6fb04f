import { openAssetStores } from '@gateway/assets/open-asset-stores';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createStoredFiles, newFileId, type StoredFiles } from './stored-files.ts';

const folder = await temporaryFolder();
const HOUR_MS = 3_600_000;
let server: TestRedis;
let redis: Redis;
let files: StoredFiles;
let nowMs = Date.now();

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  const stores = await openAssetStores({ url: folder.path });
  files = createStoredFiles({ redis, store: await stores.open('files'), now: () => nowMs });
});
beforeEach(async () => {
  await redis.flushall();
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
  await folder.close();
});

const put = (keyId: string, id = newFileId(), maxKeyBytes?: number) =>
  files.put(
    {
      ...(maxKeyBytes !== undefined && { maxKeyBytes }),
      id,
      keyId,
      filename: 'a.jsonl',
      purpose: 'batch',
      createdAtMs: nowMs,
      expiresAtMs: nowMs + HOUR_MS,
      isListed: true,
    },
    Buffer.from('0123456789'),
  );
const isThere = async (id: string) => {
  const asset = await files.open(id);
  await asset?.close();
  return asset !== undefined;
};

test('a file is its key’s, until it expires', async () => {
  const { id } = await put('one');
  expect(await files.find(id, 'one')).toMatchObject({ id, sizeBytes: 10 });
  expect(await files.find(id, 'other')).toBeUndefined();
  nowMs += HOUR_MS;
  expect(await files.find(id, 'one')).toBeUndefined();
  expect(await isThere(id)).toBe(true);
  expect(await files.sweep()).toBe(1);
  expect(await isThere(id)).toBe(false);
  expect(await redis.keys('*')).toEqual([]);
});

test('what is held outlives its deletion and its end, and nobody finds it', async () => {
  const { id } = await put('one');
  expect(await files.hold(id, nowMs + 2 * HOUR_MS)).toBe(true);
  // A shorter hold of somebody else takes nothing away.
  await files.hold(id, nowMs + HOUR_MS);
  await files.remove(id);
  expect(await files.find(id, 'one')).toBeUndefined();
  nowMs += 2 * HOUR_MS - 1;
  expect(await files.sweep()).toBe(0);
  expect(await isThere(id)).toBe(true);
  nowMs += 1;
  expect(await files.sweep()).toBe(1);
  expect(await isThere(id)).toBe(false);
  expect(await redis.keys('*')).toEqual([]);
});

test('the bytes of a key are counted once, also where a file is put down again', async () => {
  const { id } = await put('one');
  await put('one', id);
  const other = await put('one');
  await files.ensureRoom('one', 21);
  await expect(files.ensureRoom('one', 20)).rejects.toMatchObject({ code: 'result_quota_exhausted' });
  await files.remove(other.id);
  await files.ensureRoom('one', 11);
  await files.discard(id);
  expect(await redis.keys('*')).toEqual([]);
});

test('uploads at the same time get no further than one after the other', async () => {
  const ids = Array.from({ length: 5 }, () => newFileId());
  const outcomes = await Promise.allSettled(ids.map((id) => put('one', id, 15)));
  const stored = ids.filter((_, index) => outcomes[index]?.status === 'fulfilled');
  expect(stored).toHaveLength(2);
  for (const id of ids) expect(await isThere(id)).toBe(stored.includes(id));
  await expect(files.ensureRoom('one', 15)).rejects.toMatchObject({
    message: expect.stringContaining('20 bytes'),
  });
  // What a batch came to is put down all the same.
  await put('one');
});

test('a key has at most ten thousand files, however small they are', async () => {
  const { id } = await put('one');
  const others = Array.from({ length: 9_999 }, (_, n) => [nowMs, `file-${n}`]).flat();
  await redis.zadd('gateway:{files}:of:one', ...others);
  await expect(files.ensureRoom('one', 1000)).rejects.toMatchObject({
    code: 'result_quota_exhausted',
    message: expect.stringContaining('10000 files'),
  });
  const refused = newFileId();
  await expect(put('one', refused, 1000)).rejects.toMatchObject({ code: 'result_quota_exhausted' });
  expect(await isThere(refused)).toBe(false);
  await put('other', newFileId(), 1000);
  await files.remove(id);
  await files.ensureRoom('one', 1000);
});

test('a file that is not there cannot be held', async () => {
  expect(await files.hold(newFileId(), nowMs)).toBe(false);
});
