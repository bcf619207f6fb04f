import { pathToFileURL } from 'node:url';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { isAssetsUrl, openAssetStores } from './open-asset-stores.ts';

test.for([
  ['s3://gateway', true],
  ['s3://my.bucket-2/a/prefix/', true],
  ['/var/lib/gateway', true],
  ['data/assets', true],
  ['file:///var/lib/gateway', true],
  ['s3://', false],
  ['s3://My_Bucket', false],
  ['s3:gateway', false],
  ['https://s3.example.com/gateway', false],
] as const)('%s names a place for assets: %s', ([url, expected]) => {
  expect(isAssetsUrl(url)).toBe(expected);
});

test('a folder is the same by its path and by its URL', async () => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.close());
  const byPath = await openAssetStores({ url: folder.path });
  const byUrl = await openAssetStores({ url: pathToFileURL(folder.path).href });
  await (await byPath.open('images')).put('a.png', Buffer.from('abc'));
  expect(await (await byUrl.open('images')).head('a.png')).toMatchObject({ sizeBytes: 3 });
  expect(byUrl.folderOf('images')).toBe(byPath.folderOf('images'));
});
