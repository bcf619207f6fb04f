import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { startS3, type TestS3 } from '@gateway/testkit/start-s3';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AssetStore, AssetStores } from './asset-store.ts';
import { openAssetStores } from './open-asset-stores.ts';
import { openS3Stores } from './s3-store.ts';

let s3: TestS3;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  s3 = await startS3();
  folder = await temporaryFolder();
});
afterAll(async () => {
  await s3.close();
  await folder.close();
});

/** Every way to keep assets, each with a place of its own. */
const STORES: Readonly<Record<string, (place: string) => Promise<AssetStores>>> = {
  'a folder': (place) => openAssetStores({ url: join(folder.path, place) }),
  'an S3 store': (place) => openS3Stores({ ...s3, prefix: `some/${place}` }),
};

const idsOf = async (store: AssetStore, prefix?: string) => {
  const ids: string[] = [];
  for await (const { id } of store.list(prefix === undefined ? {} : { prefix })) ids.push(id);
  return ids.sort();
};

describe.each(Object.entries(STORES))('%s', (_name, openIn) => {
  let places = 0;
  const opened = async () => {
    places += 1;
    const stores = await openIn(`place${places}`);
    return { stores, store: await stores.open('images'), [Symbol.dispose]: () => stores.close() };
  };

  test('what is stored comes back, with its type, its size and when that was', async () => {
    using place = await opened();
    const before = Date.now();
    expect(await place.store.put('job_1-0.png', Buffer.from('abc'))).toEqual({
      id: 'job_1-0.png',
      sizeBytes: 3,
    });
    const info = { id: 'job_1-0.png', contentType: 'image/png', sizeBytes: 3 };
    expect(await place.store.head('job_1-0.png')).toMatchObject(info);
    const asset = await place.store.open('job_1-0.png');
    expect(asset).toMatchObject(info);
    expect(asset?.etag).toMatch(/^"[^"]+"$/);
    expect(Math.abs((asset?.storedAtMs ?? 0) - before)).toBeLessThan(10_000);
    expect(String(await asset?.bytes())).toBe('abc');
    expect((await place.store.head('job_1-0.png'))?.etag).toBe(asset?.etag);
  });

  test.for([0, 1, 5 * 1024 * 1024, 5 * 1024 * 1024 + 1, 12_000_001])(
    '%s bytes that come in pieces are stored and read as they were',
    async (sizeBytes) => {
      using place = await opened();
      const bytes = randomBytes(sizeBytes);
      async function* pieces() {
        for (let at = 0; at < sizeBytes; at += 70_001) yield bytes.subarray(at, at + 70_001);
      }
      expect(await place.store.put('a', pieces())).toEqual({ id: 'a', sizeBytes });
      const asset = await place.store.open('a');
      if (asset === undefined) throw new Error('is not there');
      expect(asset.sizeBytes).toBe(sizeBytes);
      expect((await buffer(asset.stream())).equals(bytes)).toBe(true);
    },
  );

  test('a part of an asset can be read alone', async () => {
    using place = await opened();
    await place.store.put('a.json', Buffer.from('0123456789'));
    const part = await place.store.open('a.json', { start: 2, end: 4 });
    expect(part).toMatchObject({ sizeBytes: 10, contentType: 'application/json' });
    expect(String(await part?.bytes())).toBe('234');
    const last = await place.store.open('a.json', { start: 9, end: 9 });
    expect(last && String(await buffer(last.stream()))).toBe('9');
  });

  test('the same id again replaces what was there, and has another etag', async () => {
    using place = await opened();
    await place.store.put('a.png', Buffer.from('first'));
    const first = await place.store.head('a.png');
    await place.store.put('a.png', Buffer.from('other'));
    const second = await place.store.open('a.png');
    expect(String(await second?.bytes())).toBe('other');
    expect(second?.etag).not.toBe(first?.etag);
    expect(await idsOf(place.store)).toEqual(['a.png']);
  });

  test('what must be new is stored once', async () => {
    using place = await opened();
    expect(await place.store.putNew('a', Buffer.from('first'))).toBe(true);
    expect(await place.store.putNew('a', Buffer.from('second'))).toBe(false);
    expect(String(await (await place.store.open('a'))?.bytes())).toBe('first');
    expect(await idsOf(place.store)).toEqual(['a']);
    await place.store.delete('a');
    expect(await place.store.putNew('a', Buffer.from('third'))).toBe(true);
  });

  test.for([10, 11_000_000])('a source that breaks after %s bytes leaves no file', async (sizeBytes) => {
    using place = await opened();
    async function* broken() {
      yield Buffer.alloc(sizeBytes);
      throw new Error('the line broke');
    }
    await expect(place.store.put('a.png', broken())).rejects.toThrow('the line broke');
    expect(await place.store.head('a.png')).toBeUndefined();
    expect(await idsOf(place.store)).toEqual([]);
  });

  test('what is not there is undefined, and can be deleted', async () => {
    using place = await opened();
    expect(await place.store.head('a.png')).toBeUndefined();
    expect(await place.store.open('a.png')).toBeUndefined();
    expect(await place.store.open('a.png', { start: 0, end: 1 })).toBeUndefined();
    await place.store.delete('a.png', 'b');
  });

  test('what is deleted is gone, and nothing else', async () => {
    using place = await opened();
    for (const id of ['a', 'b', 'c']) await place.store.put(id, Buffer.from(id));
    await place.store.delete('a', 'c');
    expect(await idsOf(place.store)).toEqual(['b']);
  });

  test('an asset that nobody reads can be closed, and one that is read halfway too', async () => {
    using place = await opened();
    await place.store.put('a.png', Buffer.alloc(1_000_000));
    await (await place.store.open('a.png'))?.close();
    const stream = (await place.store.open('a.png'))?.stream();
    if (stream === undefined) throw new Error('is not there');
    await once(stream, 'readable');
    stream.destroy();
    await once(stream, 'close');
  });

  test('nothing outside the store can be named', async () => {
    using place = await opened();
    const other = await place.stores.open('other');
    await other.put('secret.png', Buffer.from('x'));
    for (const id of [
      '../other/secret.png',
      '..%2Fother%2Fsecret.png',
      '/etc/passwd',
      'a/b.png',
      '',
      'x.exe',
      '.',
    ]) {
      expect(await place.store.head(id)).toBeUndefined();
      expect(await place.store.open(id)).toBeUndefined();
      await expect(place.store.put(id, Buffer.from('x'))).rejects.toThrow('not an asset id');
      await expect(async () => place.store.delete(id)).rejects.toThrow('not an asset id');
    }
    expect(await idsOf(other)).toEqual(['secret.png']);
  });

  test('a list holds all assets of its store, or those of a prefix', async () => {
    using place = await opened();
    const other = await place.stores.open('other');
    await other.put('key_1-x', Buffer.from('x'));
    for (const id of ['key_1-a.json', 'key_1-b.json', 'key_2-a.json'])
      await place.store.put(id, Buffer.from('{}'));
    expect(await idsOf(place.store)).toEqual(['key_1-a.json', 'key_1-b.json', 'key_2-a.json']);
    expect(await idsOf(place.store, 'key_1-')).toEqual(['key_1-a.json', 'key_1-b.json']);
  });

  test('a sweep deletes what is older than its time, and of its prefix', async () => {
    using place = await opened();
    for (const id of ['key_1-a', 'key_2-a', 'key_2-b']) await place.store.put(id, Buffer.from('x'));
    const times = await Promise.all(['key_1-a', 'key_2-a', 'key_2-b'].map((id) => place.store.head(id)));
    const all = times.map((info) => info?.storedAtMs ?? 0);
    expect(await place.store.sweep(Math.min(...all))).toBe(0);
    expect(await place.store.sweep(Math.max(...all) + 1, { prefix: 'key_2-' })).toBe(2);
    expect(await idsOf(place.store)).toEqual(['key_1-a']);
    expect(await place.store.sweep(Math.max(...all) + 1)).toBe(1);
  });
});

test('writers of the same id in a folder never leave a mixture', async () => {
  const store = await (await openAssetStores({ url: join(folder.path, 'writers') })).open('images');
  const contents = ['a', 'b', 'c'].map((letter) => Buffer.alloc(200_000, letter));
  await Promise.all(contents.map((content) => store.put('x', content)));
  const found = await (await store.open('x'))?.bytes();
  expect(contents.filter((content) => found?.equals(content))).toHaveLength(1);
  const first = await Promise.all(contents.map((content) => store.putNew('y', content)));
  expect(first.filter(Boolean)).toHaveLength(1);
  expect(await idsOf(store)).toEqual(['x', 'y']);
});

test('a folder that others write to shows no asset that is not whole, and a sweep takes what dead writers left', async () => {
  const stores = await openAssetStores({ url: join(folder.path, 'partial') });
  const store = await stores.open('images');
  const path = join(folder.path, 'partial', 'images');
  const [old, fresh] = ['a.png.0123456789ab.part', 'b.png.0123456789ab.part'];
  for (const name of [old, fresh]) await writeFile(join(path, name), 'half');
  await utimes(join(path, old), 1000, 1000);
  await mkdir(join(path, 'folder.png'));
  expect(await idsOf(store)).toEqual([]);
  expect(await store.open('folder.png')).toBeUndefined();
  expect(await store.sweep(2_000_000)).toBe(0);
  expect((await readdir(path)).sort()).toEqual([fresh, 'folder.png']);
});

test('a URL at the S3 store serves the asset with its type and disposition, and only with its signature', async () => {
  const keepIn = join(folder.path, 'objects');
  const inside = await startS3({ keepIn });
  const outside = await startS3({ keepIn, isStrict: true });
  const stores = await openS3Stores({ ...inside, prefix: '', publicEndpoint: outside.endpoint });
  const store = await stores.open('images');
  await store.put('a.png', Buffer.from('abc'));
  const url = await store.urlOf('a.png', {
    expiresInSeconds: 60,
    contentDisposition: 'inline; filename="a.png"',
  });
  if (url === undefined) throw new Error('no URL');
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([200, 'abc']);
  expect(response.headers.get('content-type')).toBe('image/png');
  expect(response.headers.get('content-disposition')).toBe('inline; filename="a.png"');
  const altered = await fetch(url.replace('a.png?', 'b.png?'));
  expect(altered.status).toBe(403);
  await altered.body?.cancel();
  stores.close();
  await inside.close();
  await outside.close();
});

test('a folder, and an S3 store without a public address, give out no URLs', async () => {
  const options = { expiresInSeconds: 60, contentDisposition: 'inline' };
  const places = [await openAssetStores({ url: folder.path }), await openS3Stores({ ...s3, prefix: '' })];
  for (const stores of places) {
    expect(await (await stores.open('images')).urlOf('a.png', options)).toBeUndefined();
    stores.close();
  }
});

test('an S3 store that is away is reported as unavailable, and a wrong bucket at the start', async () => {
  await expect(openS3Stores({ ...s3, bucket: 'nobodys', prefix: '' })).rejects.toThrow(
    /bucket 'nobodys' of ASSETS_URL/,
  );
  const brief = await startS3();
  const stores = await openS3Stores({ ...brief, prefix: '' });
  const store = await stores.open('images');
  await brief.close();
  const away = { code: 'service_unavailable' };
  await expect(store.put('a', Buffer.from('x'))).rejects.toMatchObject(away);
  await expect(store.open('a')).rejects.toMatchObject(away);
  await expect(store.head('a')).rejects.toMatchObject(away);
  await expect(store.sweep(0)).rejects.toMatchObject(away);
  stores.close();
});
