import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { AssetStore } from '@gateway/assets/asset-store';
import { openAssetStores } from '@gateway/assets/open-asset-stores';
import { startS3 } from '@gateway/testkit/start-s3';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { createContentReader } from './content-reader.ts';
import { type ContentSpoolOptions, createContentSpool } from './content-spool.ts';
import { type ContentStores, openContentStores } from './content-store.ts';

async function newFolder(): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.close());
  return folder.path;
}

async function useSpool(stores: () => Promise<ContentStores>, more: Partial<ContentSpoolOptions> = {}) {
  const folder = more.folder ?? join(await newFolder(), 'spool');
  const lost: string[] = [];
  const problems: unknown[] = [];
  const spool = createContentSpool({
    folder,
    openStores: stores,
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

async function linesIn({ lines: store }: ContentStores, object: string): Promise<string[]> {
  const asset = await store.open(object);
  const text = asset === undefined ? '' : gunzipSync(await asset.bytes()).toString();
  return text.split('\n').filter((line) => line !== '');
}

const inFolder = async (): Promise<ContentStores> =>
  openContentStores(await openAssetStores({ url: await newFolder() }));

test('lines become gzipped objects by hour, each in the one that was named for it', async () => {
  const stores = await inFolder();
  const { spool, folder } = await useSpool(async () => stores);
  const [one, two] = [spool.begin(), spool.begin()];
  expect(one.object).toMatch(/^2026-11-27_02_[0-9a-f]{8}_1\.gz$/);
  expect(two.object).toBe(one.object);
  expect(await one.write('a'.repeat(1200))).toBe(true);
  // It is large enough, and waits for its last line.
  const three = spool.begin();
  expect(three.object).not.toBe(one.object);
  await spool.bring();
  expect(await linesIn(stores, one.object)).toEqual([]);
  await two.write('b');
  three.cancel();
  await spool.bring();
  expect(await linesIn(stores, one.object)).toEqual(['a'.repeat(1200), 'b']);
  expect([await readdir(folder), spool.sizeBytes]).toEqual([[], 0]);
});

test('while the bucket is away lines wait on disk; when it is back they are all there', async () => {
  const kept = await newFolder();
  const first = await startS3({ keepIn: kept });
  const openStores = async (endpoint: string) => {
    const { bucket, region, credentials } = first;
    const stores = await openAssetStores({ url: `s3://${bucket}/logs`, endpoint, region, credentials });
    onTestFinished(() => stores.close());
    return openContentStores(stores);
  };
  let content = await openStores(first.endpoint);
  await first.close();
  const { spool, problems, folder } = await useSpool(async () => content);
  const line = spool.begin();
  await line.write('while it is away');
  await spool.bring(true);
  expect(problems).toHaveLength(1);
  expect(await readdir(folder)).toHaveLength(1);
  const second = await startS3({ keepIn: kept });
  onTestFinished(() => second.close());
  content = await openStores(second.endpoint);
  await spool.bring();
  expect(await linesIn(content, line.object)).toEqual(['while it is away']);
  expect(await readdir(folder)).toEqual([]);
});

test('what a killed process has written is brought by another one; what it was writing is left out', async () => {
  const stores = await inFolder();
  const { spool, folder } = await useSpool(async () => stores);
  await spool.bring();
  const left = join(folder, '2026-11-27_01_deadbeef_7.jsonl');
  await writeFile(left, 'one\ntwo\nthr');
  await spool.bring();
  expect(await readdir(folder)).toHaveLength(1);
  const longAgo = new Date('2026-11-27T02:00:00Z');
  await utimes(left, longAgo, longAgo);
  await spool.bring();
  expect(await linesIn(stores, '2026-11-27_01_deadbeef_7.gz')).toEqual(['one', 'two']);
  expect(await readdir(folder)).toEqual([]);
});

test('beyond its bound the spool loses lines, and says so', async () => {
  const { spool, lost } = await useSpool(() => Promise.reject(new Error('away')), { maxBytes: 10 });
  expect(await spool.begin().write('12345')).toBe(true);
  expect(await spool.begin().write('12345')).toBe(false);
  expect(lost).toEqual(['spool_full']);
});

const lineOf = (id: string, owner: object, at = '2026-11-27T02:10:00Z') =>
  JSON.stringify({ version: 1, id, at, ...owner });

const DELETED_AT = () => Date.parse('2026-11-27T02:12:00Z');

test('lines that were deleted before they were brought do not come; later ones do', async () => {
  const stores = await inFolder();
  const { spool, folder } = await useSpool(async () => stores);
  const file = spool.begin();
  await file.write(lineOf('by key', { keyId: 'key_a' }));
  const write = (line: string) => spool.begin().write(line);
  await write(lineOf('by end user', { keyId: 'key_b', endUser: 'ann' }));
  await write(lineOf('by its id', { keyId: 'key_b' }));
  await write(lineOf('later', { keyId: 'key_a' }, '2026-11-27T02:20:00Z'));
  await write(lineOf('other', { keyId: 'key_b', quoted: '"keyId":"key_a"' }));
  const reader = createContentReader({ openStores: async () => stores, dataDir: folder, now: DELETED_AT });
  await reader.erase({ keyId: 'key_a' }, null);
  await reader.erase({ endUser: 'ann' }, null);
  await reader.remove(new Map([[file.object, ['by its id']]]));
  await spool.bring(true);
  const ids = (await linesIn(stores, file.object)).map((line) => /"id":"(.*?)"/.exec(line)?.[1]);
  expect(ids).toEqual(['later', 'other']);
});

test('what is deleted while an object is written is not in it afterwards', async () => {
  const stores = await inFolder();
  const { folder } = await useSpool(async () => stores);
  const options = { dataDir: folder, now: DELETED_AT };
  const other = createContentReader({ ...options, openStores: async () => stores });
  /** Before it writes, another process deletes something from the same object. */
  const interrupted = (erase: () => Promise<unknown>): ContentStores => {
    let isFirst = true;
    const put: AssetStore['put'] = async (...object) => {
      const before = isFirst;
      isFirst = false;
      if (before) await erase();
      return stores.lines.put(...object);
    };
    return { ...stores, lines: { ...stores.lines, put } };
  };
  const content = interrupted(() => other.erase({ keyId: 'key_a' }, null));
  const { spool } = await useSpool(async () => content);
  const line = spool.begin();
  for (const id of ['a', 'b', 'c']) {
    await (id === 'a' ? line : spool.begin()).write(lineOf(id, { keyId: `key_${id}` }));
  }
  await spool.bring(true);
  expect(await linesIn(stores, line.object)).toHaveLength(2);
  const again = interrupted(() => other.erase({ keyId: 'key_b' }, null));
  await createContentReader({ ...options, openStores: async () => again }).erase({ keyId: 'key_c' }, null);
  expect(await linesIn(stores, line.object)).toEqual([]);
});

test('an object that a killed process had brought is not brought with what was deleted from it', async () => {
  const stores = await inFolder();
  const { spool, folder } = await useSpool(async () => stores);
  await spool.bring();
  const name = '2026-11-27_01_deadbeef_7';
  const lines = ['a', 'b'].map((id) => `${lineOf(id, { keyId: `key_${id}` })}\n`);
  await stores.lines.put(`${name}.gz`, gzipSync(lines.join('')));
  const reader = createContentReader({ openStores: async () => stores, dataDir: folder, now: DELETED_AT });
  expect(await reader.erase({ keyId: 'key_a' }, null)).toEqual({ deleted: 1, next: null });
  const left = join(folder, `${name}.jsonl`);
  await writeFile(left, lines.join(''));
  const longAgo = new Date('2026-11-27T02:00:00Z');
  await utimes(left, longAgo, longAgo);
  await spool.bring();
  expect(await readdir(folder)).toEqual([]);
  expect(await linesIn(stores, `${name}.gz`)).toEqual([lines[1]?.trim()]);
});
