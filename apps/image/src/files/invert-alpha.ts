import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { PNG } from 'pngjs';

/** Writes a copy of a PNG whose transparent pixels are opaque and the other way round; colours stay. */
export async function invertAlpha(sourcePath: string, targetPath: string): Promise<void> {
  const image = new PNG();
  await pipeline(createReadStream(sourcePath), image);
  const { data } = image;
  for (let index = 3; index < data.length; index += 4) data[index] = 255 - (data[index] ?? 0);
  await pipeline(image.pack(), createWriteStream(targetPath, { flags: 'wx' }));
}
