import { Readable } from 'node:stream';
import type { AssetStore } from '@gateway/assets/asset-store';
import { openAssetStores } from '@gateway/assets/open-asset-stores';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newFileId } from '../../batches/stored-files.ts';
import { linesOf } from './batch-lines.ts';

const folder = await temporaryFolder();
const fileId = newFileId();
const services = { maxBodyBytes: 1000 };
const { signal } = new AbortController();
let store: AssetStore;

beforeAll(async () => {
  store = await (await openAssetStores({ url: folder.path })).open('files');
  await store.put(fileId, Buffer.from('one\ntwo\nthree\nfour'));
});
afterAll(() => folder.close());

/** A store whose connections end after so many bytes. */
const breaking = (bytesOfEach: readonly number[]): Pick<AssetStore, 'open'> => {
  const left = [...bytesOfEach];
  return {
    open: async (id, range) => {
      const asset = await store.open(id, range);
      const bytes = left.shift();
      if (asset === undefined || bytes === undefined) return asset;
      const all = await asset.bytes();
      const stream = async function* () {
        yield all.subarray(0, bytes);
        throw new Error('read ECONNRESET');
      };
      return { ...asset, stream: () => Readable.from(stream()) };
    },
  };
};

async function read(files: Pick<AssetStore, 'open'>): Promise<string[]> {
  const lines = [];
  for await (const { index, bytes } of linesOf({ files, services }, fileId, { signal }))
    lines.push(`${index} ${bytes}`);
  return lines;
}

test('a file is read on where its connection has ended, and each line comes once', async () => {
  const whole = ['0 one', '1 two', '2 three', '3 four'];
  expect(await read(store)).toEqual(whole);
  expect(await read(breaking([5, 2, 4]))).toEqual(whole);
  // All has come, and then it has ended.
  expect(await read(breaking([18]))).toEqual(whole);
});

test('a file that is not there is not waited for', async () => {
  await store.delete(fileId);
  await expect(read(store)).rejects.toMatchObject({ code: 'object_not_found' });
});
