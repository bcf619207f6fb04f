import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { link, rename, stat, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AssetSource, PutOptions } from './asset-store.ts';
import { removeFile } from './missing-file.ts';
import { toStorageError } from './storage-error.ts';

/** Whether a file of this name is still being written, or was when its writer died. */
export const isPartial = (name: string): boolean => /\.[0-9a-f]{12}\.part$/.test(name);

/**
 * Writes a whole file or nothing: under another name first, on disk before it gets its own if it is to be durable.
 *
 * @throws {GatewayError} `storage_full`, `service_unavailable`; whatever the source throws
 */
export async function writeWhole(
  path: string,
  source: AssetSource,
  { isDurable = true }: PutOptions = {},
): Promise<{ sizeBytes: number }> {
  const partial = await writePartial(path, source, isDurable);
  try {
    const sizeBytes = source instanceof Uint8Array ? source.length : (await stat(partial)).size;
    await rename(partial, path);
    return { sizeBytes };
  } catch (error) {
    await removeFile(partial);
    throw toStorageError(error);
  }
}

/** The same where there is no such file yet; resolves to whether it was written. @throws {GatewayError} `storage_full`, `service_unavailable` */
export async function writeNew(path: string, bytes: Uint8Array): Promise<boolean> {
  const partial = await writePartial(path, bytes, true);
  try {
    await link(partial, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw toStorageError(error);
  } finally {
    await removeFile(partial);
  }
}

/** Writes a file under another name, which is returned. */
async function writePartial(path: string, source: AssetSource, isDurable: boolean): Promise<string> {
  const partial = `${path}.${randomBytes(6).toString('hex')}.part`;
  const options = { flag: 'wx', flags: 'wx', flush: isDurable };
  try {
    // A stream takes a millisecond more of the processor's time than the file itself.
    if (source instanceof Uint8Array) await writeFile(partial, source, options);
    else await pipeline(Readable.from(source, { objectMode: false }), createWriteStream(partial, options));
    return partial;
  } catch (error) {
    await removeFile(partial);
    throw toStorageError(error);
  }
}
