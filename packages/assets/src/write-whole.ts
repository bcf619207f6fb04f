import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AssetSource } from './asset-store.ts';
import { toStorageError } from './storage-error.ts';

/** Whether a file of this name is still being written, or was when its writer died. */
export const isPartial = (name: string): boolean => /\.[0-9a-f]{12}\.part$/.test(name);

/**
 * Writes a whole file or nothing: under another name first, on disk before it gets its own.
 *
 * @throws {GatewayError} `storage_full`; whatever the source throws
 */
export async function writeWhole(path: string, source: AssetSource): Promise<{ sizeBytes: number }> {
  const partial = `${path}.${randomBytes(6).toString('hex')}.part`;
  try {
    await pipeline(
      Readable.from(source instanceof Uint8Array ? [source] : source, { objectMode: false }),
      createWriteStream(partial, { flags: 'wx', flush: true }),
    );
    const { size } = await stat(partial);
    await rename(partial, path);
    return { sizeBytes: size };
  } catch (error) {
    await rm(partial, { force: true });
    throw toStorageError(error);
  }
}
