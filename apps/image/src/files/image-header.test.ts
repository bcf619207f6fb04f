import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jpegBytes, pngBytes, webpBytes } from '../testing/image-files.ts';
import { imageTypeOf, readImageHeader } from './image-header.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.close());

async function headerOf(bytes: Uint8Array) {
  const path = join(folder.path, 'image');
  await writeFile(path, bytes);
  await using file = await open(path);
  // Awaited here, since the file is closed on the way out.
  return await readImageHeader(file, imageTypeOf(bytes) ?? '');
}

function chunk(type: string, data: Uint8Array): Buffer {
  const bytes = Buffer.alloc(data.length + 12);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4, 'latin1');
  bytes.set(data, 8);
  return bytes;
}

/** A PNG up to its pixels. */
function pngHead(colourType: number, ...chunks: Buffer[]): Buffer {
  const header = Buffer.from([0, 0, 0, 5, 0, 0, 0, 6, 8, colourType, 0, 0, 0]);
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([signature, chunk('IHDR', header), ...chunks, chunk('IDAT', Buffer.alloc(4))]);
}

const webpOf = (name: string, body: readonly number[]): Buffer =>
  Buffer.concat([
    Buffer.from(`RIFF\x20\0\0\0WEBP${name}\x10\0\0\0`, 'latin1'),
    Buffer.from(body),
    Buffer.alloc(10),
  ]);

test('size and alpha of PNG: by its colour type, or a palette with transparency', async () => {
  expect(await headerOf(pngBytes({ width: 7, height: 9 }))).toEqual({ width: 7, height: 9, hasAlpha: true });
  expect(await headerOf(pngBytes({ hasAlpha: false, alpha: 255 }))).toMatchObject({ hasAlpha: false });
  expect(await headerOf(pngHead(4))).toEqual({ width: 5, height: 6, hasAlpha: true });
  const palette = chunk('PLTE', Buffer.alloc(6));
  expect(await headerOf(pngHead(3, palette))).toMatchObject({ hasAlpha: false });
  expect(await headerOf(pngHead(3, palette, chunk('tRNS', Buffer.of(0))))).toMatchObject({ hasAlpha: true });
});

test('size of JPEG, after any other segments', async () => {
  expect(await headerOf(jpegBytes(640, 480))).toEqual({ width: 640, height: 480, hasAlpha: false });
  const filled = Buffer.concat([jpegBytes().subarray(0, 2), Buffer.of(0xff), jpegBytes(3, 4).subarray(2)]);
  expect(await headerOf(filled)).toMatchObject({ width: 3, height: 4 });
});

test('size of all three forms of WebP', async () => {
  expect(await headerOf(webpBytes(1000, 2000))).toMatchObject({ width: 1000, height: 2000 });
  const lossy = [0, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00];
  expect(await headerOf(webpOf('VP8 ', lossy))).toMatchObject({ width: 320, height: 240 });
  const lossless = Buffer.alloc(5);
  lossless[0] = 0x2f;
  lossless.writeUInt32LE(319 | (239 << 14), 1);
  expect(await headerOf(webpOf('VP8L', [...lossless]))).toMatchObject({ width: 320, height: 240 });
});

test('what is broken, empty or without size is unreadable, not a crash', async () => {
  for (const bytes of [
    pngBytes().subarray(0, 24),
    jpegBytes().subarray(0, 50),
    webpBytes().subarray(0, 16),
    Buffer.alloc(0),
    webpOf('ABCD', []),
  ])
    expect(await headerOf(bytes)).toBeUndefined();
  const flat = pngHead(6);
  flat.fill(0, 16, 20);
  expect(await headerOf(flat)).toBeUndefined();
});

test('types are known by content', () => {
  expect(imageTypeOf(Buffer.from('<?xml version="1.0"?>\n<!-- x -->\n<svg xmlns="">'))).toBe('image/svg+xml');
  expect(imageTypeOf(Buffer.from('GIF89a'))).toBe('image/gif');
  expect(imageTypeOf(Buffer.from('<html><svg>'))).toBeUndefined();
  expect(imageTypeOf(Buffer.from('PNG'))).toBeUndefined();
  const boxed = (brands: string) => Buffer.from(`\0\0\0\x1cftyp${brands}\0\0\0\x08mdat`, 'latin1');
  expect(imageTypeOf(boxed('avif\0\0\0\0mif1miaf'))).toBe('image/avif');
  expect(imageTypeOf(boxed('mif1\0\0\0\0miafavif'))).toBe('image/avif');
  expect(imageTypeOf(boxed('mif1\0\0\0\0miafheic'))).toBe('image/heic');
  expect(imageTypeOf(boxed('isom\0\0\0\0isommp42'))).toBeUndefined();
});
