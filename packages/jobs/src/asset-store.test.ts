import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, test } from 'vitest';
import { assetId, openAssetStore } from './asset-store.ts';
import { toStorageError } from './file-area.ts';
import { openUploadStore } from './upload-store.ts';

async function opened() {
  const folder = await temporaryFolder();
  return {
    store: await openAssetStore(folder.path),
    path: join(folder.path, 'assets'),
    dataDir: folder.path,
    [Symbol.asyncDispose]: () => folder.close(),
  };
}

const id = assetId('job_1', 0, 'image/png');

test('what is stored comes back, with its type and size', async () => {
  await using area = await opened();
  expect(await area.store.put(id, Buffer.from('abc'))).toEqual({ id, sizeBytes: 3 });
  const asset = await area.store.open(id);
  expect(asset).toMatchObject({ id: 'job_1-0.png', contentType: 'image/png', sizeBytes: 3 });
  expect(String(await asset?.bytes())).toBe('abc');
});

test('a job that runs twice leaves one asset', async () => {
  await using area = await opened();
  await area.store.put(id, Buffer.from('first'));
  await area.store.put(id, Buffer.from('second'));
  expect(await readdir(area.path)).toEqual([id]);
});

test('a source that breaks leaves nothing behind', async () => {
  await using area = await opened();
  async function* broken() {
    yield Buffer.from('half');
    throw new Error('the line broke');
  }
  await expect(area.store.put(id, broken())).rejects.toThrow('the line broke');
  expect(await readdir(area.path)).toEqual([]);
});

test('nothing outside the store can be named', async () => {
  await using area = await opened();
  await writeFile(join(area.dataDir, 'secret.png'), 'x');
  await mkdir(join(area.path, 'folder.png'));
  for (const name of ['../secret.png', '..%2Fsecret.png', '/etc/passwd', 'secret', 'a/b.png', '', 'x.exe'])
    expect(await area.store.open(name)).toBeUndefined();
  await expect(area.store.put('../x.png', Buffer.from('x'))).rejects.toThrow('not an asset id');
});

test('a sweep deletes what is old and nothing else', async () => {
  await using area = await opened();
  const old = assetId('job_1', 0, 'image/png');
  const fresh = assetId('job_1', 1, 'image/webp');
  await area.store.put(old, Buffer.from('x'));
  await area.store.put(fresh, Buffer.from('x'));
  await utimes(join(area.path, old), 1000, 1000);
  expect(await area.store.sweep(2_000_000)).toBe(1);
  expect(await readdir(area.path)).toEqual([fresh]);
});

test('a disk without room is told as such', () => {
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  expect(toStorageError(full)).toMatchObject({ code: 'storage_full' });
  const other = new Error('x');
  expect(toStorageError(other)).toBe(other);
});

test('uploads are deleted by id, and no other file can be named', async () => {
  await using area = await opened();
  const uploads = await openUploadStore(area.dataDir);
  const [first, second] = [uploads.newId(), uploads.newId()];
  await writeFile(uploads.pathOf(first), 'x');
  await writeFile(uploads.pathOf(second), 'x');
  await uploads.delete(first, first);
  expect(await readdir(uploads.folder)).toEqual([second]);
  expect(() => uploads.pathOf('../secret')).toThrow('not an upload id');
});
