import { readFile } from 'node:fs/promises';
import { writeWhole } from '@gateway/assets/write-whole';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { PNG } from 'pngjs';

/**
 * Writes a copy of a PNG whose transparent pixels are opaque and the other way round; colours stay. Holds the image in
 * memory, so its size must have been checked. Resolves to the copy's size.
 *
 * @throws {GatewayError} `invalid_mask_image_format` for a PNG that cannot be decoded, `storage_full`
 */
export async function invertAlpha(sourcePath: string, targetPath: string): Promise<{ sizeBytes: number }> {
  const image = await decode(await readFile(sourcePath));
  const { data } = image;
  for (let index = 3; index < data.length; index += 4) data[index] = 255 - (data[index] ?? 0);
  return writeWhole(targetPath, await encode(image));
}

const decode = (bytes: Buffer): Promise<PNG> =>
  new Promise((resolve, reject) => {
    new PNG().parse(bytes, (error: Error | null, image) => {
      if (error === null) return resolve(image);
      reject(
        new GatewayError('invalid_mask_image_format', {
          path: ['mask'],
          message: 'The mask cannot be read as a PNG file.',
          cause: error,
        }),
      );
    });
  });

// pngjs has streams of its own kind, which never signal their end to `pipeline`.
const encode = (image: PNG): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    image.on('data', (chunk: Buffer) => chunks.push(chunk));
    image.once('end', () => resolve(Buffer.concat(chunks)));
    image.once('error', reject);
    image.pack();
  });
