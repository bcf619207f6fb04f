import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { AssetStore } from '@gateway/assets/asset-store';
import { openAssetStores } from '@gateway/assets/open-asset-stores';
import { startS3 } from '@gateway/testkit/start-s3';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { type ContentSpoolOptions, createContentSpool } from './content-spool.ts';

async function newFolder(): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.close());
  return folder.path;
}

async function useSpool(
  store: () => Promise<Pick<AssetStore, 'put'>>,
  more: Partial<ContentSpoolOptions> = {},
) {
  const folder = more.folder ?? join(await newFolder(), 'spool');
  const lost: string[] = [];
  const problems: unknown[] = [];
  const spool = createContentSpool({
    folder,
    openStore: store,
    now: () => Date.parse('2026-11-27T02:15:00Z'),
    maxBytes: 1e6,
    fileBytes: 1000,
    fileMs: 60_000,
    onLost: (reason) => lost.push(reason),
    onProblem: (problem) => problems.push(problem),
    ...more,
  });
  return { spool, folder, lost, problems };
}

async function linesIn(store: AssetStore, object: string): Promise<string[]> {
  const asset = await store.open(object);
  const text = asset === undefined ? '' : gunzipSync(await asset.bytes()).toString();
  return text.split('\n').filter((line) => line !== '');
}

const inFolder = async (): Promise<AssetStore> =>
  (await openAssetStores({ url: await newFolder() })).open('content');

test('lines become gzipped objects by hour, each in the one that was named for it', async () => {
  const store = await inFolder();
  const { spool, folder } = await useSpool(async () => store);
  const [one, two] = [spool.begin(), spool.begin()];
  expect(one.object).toMatch(/^2026-11-27_02_[0-9a-f]{8}_1\.gz$/);
  expect(two.object).toBe(one.object);
  expect(await one.write('a'.repeat(1200))).toBe(true);
  // It is large enough, and waits for its last line.
  const three = spool.begin();
  expect(three.object).not.toBe(one.object);
  await spool.bring();
  expect(await linesIn(store, one.object)).toEqual([]);
  await two.write('b');
  three.cancel();
  await spool.bring();
  expect(await linesIn(store, one.object)).toEqual(['a'.repeat(1200), 'b']);
  expect([await readdir(folder), spool.sizeBytes]).toEqual([[], 0]);
});

test('while the bucket is away lines wait on disk; when it is back they are all there', async () => {
  const kept = await newFolder();
  const first = await startS3({ keepIn: kept });
  const openStore = async (endpoint: string) => {
    const { bucket, region, credentials } = first;
    const stores = await openAssetStores({ url: `s3://${bucket}/logs`, endpoint, region, credentials });
    onTestFinished(() => stores.close());
    return stores.open('content');
  };
  let store = await openStore(first.endpoint);
  await first.close();
  const { spool, problems, folder } = await useSpool(async () => store);
  const line = spool.begin();
  await line.write('while it is away');
  await spool.bring(true);
  expect(problems).toHaveLength(1);
  expect(await readdir(folder)).toHaveLength(1);
  const second = await startS3({ keepIn: kept });
  onTestFinished(() => second.close());
  store = await openStore(second.endpoint);
  await spool.bring();
  expect(await linesIn(store, line.object)).toEqual(['while it is away']);
  expect(await readdir(folder)).toEqual([]);
});

test('what a killed process has written is brought by another one; what it was writing is left out', async () => {
  const store = await inFolder();
  const { spool, folder } = await useSpool(async () => store);
  await spool.bring();
  const left = join(folder, '2026-11-27_01_deadbeef_7.jsonl');
  await writeFile(left, 'one\ntwo\nthr');
  await spool.bring();
  expect(await readdir(folder)).toHaveLength(1);
  const longAgo = new Date('2026-11-27T02:00:00Z');
  await utimes(left, longAgo, longAgo);
  await spool.bring();
  expect(await linesIn(store, '2026-11-27_01_deadbeef_7.gz')).toEqual(['one', 'two']);
  expect(await readdir(folder)).toEqual([]);
});

test('beyond its bound the spool loses lines, and says so', async () => {
  const { spool, lost } = await useSpool(() => Promise.reject(new Error('away')), { maxBytes: 10 });
  expect(await spool.begin().write('12345')).toBe(true);
  expect(await spool.begin().write('12345')).toBe(false);
  expect(lost).toEqual(['spool_full']);
});
