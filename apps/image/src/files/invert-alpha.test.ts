import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { invertAlpha } from './invert-alpha.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.close());

let files = 0;
async function inverted(bytes: Buffer): Promise<Buffer> {
  files += 1;
  const [source, target] = [join(folder.path, `${files}`), join(folder.path, `${files}-inverted`)];
  await writeFile(source, bytes);
  const { sizeBytes } = await invertAlpha(source, target);
  const copy = await readFile(target);
  expect(sizeBytes).toBe(copy.length);
  return copy;
}

function chunk(type: string, content: Uint8Array): Buffer {
  const bytes = Buffer.alloc(content.length + 12);
  bytes.writeUInt32BE(content.length, 0);
  bytes.write(type, 4, 'latin1');
  bytes.set(content, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, -4)), bytes.length - 4);
  return bytes;
}

interface Png {
  readonly width: number;
  readonly height: number;
  readonly bits?: number;
  readonly colourType?: number;
  readonly isInterlaced?: boolean;
  readonly more?: readonly Buffer[];
  readonly pixels: Uint8Array;
}

function png({
  width,
  height,
  bits = 8,
  colourType = 6,
  isInterlaced = false,
  more = [],
  pixels,
}: Png): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([bits, colourType, 0, 0, isInterlaced ? 1 : 0], 8);
  const data = deflateSync(pixels);
  const half = Math.floor(data.length / 2);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', head),
    ...more,
    chunk('IDAT', data.subarray(0, half)),
    chunk('IDAT', data.subarray(half)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Any bytes, under filters of all kinds. */
function lines(...passes: readonly (readonly [rows: number, lineBytes: number])[]): Buffer {
  const all = passes.flatMap(([rows, lineBytes]) => Array<number>(rows).fill(lineBytes));
  return Buffer.concat(all.flatMap((bytes, row) => [Buffer.of(row % 5), randomBytes(bytes)]));
}

/** The passes of 8 by 8 pixels. */
const ADAM7 = [
  [1, 1],
  [1, 1],
  [1, 2],
  [2, 2],
  [2, 4],
  [4, 4],
  [4, 8],
] as const;
const adam7 = (pixelBytes: number) =>
  lines(...ADAM7.map(([rows, pixels]) => [rows, pixels * pixelBytes] as const));
const PALETTE = chunk('PLTE', randomBytes(12));
const colour = (...values: number[]): Buffer => chunk('tRNS', Buffer.from(values));

test.for<[string, Png]>([
  ['colours and alpha', { width: 9, height: 11, pixels: lines([11, 36]) }],
  ['colours and alpha, interlaced', { width: 8, height: 8, isInterlaced: true, pixels: adam7(4) }],
  ['colours and alpha of 16 bits', { width: 9, height: 11, bits: 16, pixels: lines([11, 72]) }],
  ['grey and alpha', { width: 9, height: 11, colourType: 4, pixels: lines([11, 18]) }],
  [
    'grey and alpha of 16 bits, interlaced',
    { width: 8, height: 8, bits: 16, colourType: 4, isInterlaced: true, pixels: adam7(4) },
  ],
  [
    'a palette',
    { width: 8, height: 5, bits: 2, colourType: 3, more: [PALETTE, colour(0, 100)], pixels: lines([5, 2]) },
  ],
  [
    'grey with one transparent tone',
    { width: 16, height: 5, bits: 1, colourType: 0, more: [colour(0, 1)], pixels: lines([5, 2]) },
  ],
  [
    'colours with a transparent one',
    {
      width: 1,
      height: 2,
      colourType: 2,
      more: [colour(0, 1, 0, 2, 0, 3)],
      pixels: Buffer.of(0, 1, 2, 3, 0, 1, 2, 4),
    },
  ],
])('%s: what was transparent is opaque, and colours stay', async ([, options]) => {
  const original = png(options);
  const before = PNG.sync.read(original).data;
  const after = PNG.sync.read(await inverted(original)).data;
  expect(after.length).toBe(before.length);
  for (let at = 0; at < before.length; at += 4) {
    // The decoder has no colour for pixels of the one that is transparent.
    const hasColour = before[at + 3] !== 0 || (options.colourType !== 0 && options.colourType !== 2);
    if (hasColour) expect(after.subarray(at, at + 3)).toEqual(before.subarray(at, at + 3));
    expect(after[at + 3]).toBe(255 - (before[at + 3] ?? 0));
  }
});

test.for<[string, Png]>([
  ['more pixels than are decoded', { width: 6000, height: 6000, pixels: Buffer.alloc(100) }],
  ['lines longer than are held', { width: 100_000, height: 10, pixels: Buffer.alloc(100) }],
  ['fewer pixels than it says', { width: 100, height: 100, pixels: Buffer.alloc(100) }],
  ['a form that does not exist', { width: 8, height: 8, colourType: 5, pixels: Buffer.alloc(100) }],
])('a mask with %s is refused', async ([, options]) => {
  await expect(inverted(png(options))).rejects.toMatchObject({
    code: 'invalid_mask_image_format',
    options: { path: ['mask'] },
  });
});

test('what a mask holds beyond its size is not decoded, and others go on meanwhile', async () => {
  const bomb = png({ width: 2, height: 2, pixels: Buffer.alloc(30_000_000) });
  let turns = 0;
  const counting = setInterval(() => {
    turns += 1;
  }, 1);
  try {
    const copies = await Promise.all([inverted(bomb), inverted(bomb)]);
    for (const copy of copies) expect(PNG.sync.read(copy).data.length).toBe(16);
  } finally {
    clearInterval(counting);
  }
  expect(turns).toBeGreaterThan(0);
});
