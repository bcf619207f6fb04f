import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { link, rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AssetSource, PutOptions } from './asset-store.ts';
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
  await using partial = await writePartial(path, source, isDurable);
  try {
    const { size } = await stat(partial.path);
    await rename(partial.path, path);
    return { sizeBytes: size };
  } catch (error) {
    throw toStorageError(error);
  }
}

/** The same where there is no such file yet; resolves to whether it was written. @throws {GatewayError} `storage_full`, `service_unavailable` */
export async function writeNew(path: string, bytes: Uint8Array): Promise<boolean> {
  await using partial = await writePartial(path, bytes, true);
  try {
    await link(partial.path, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw toStorageError(error);
  }
}

/** A file under another name, which is deleted with what is returned. */
async function writePartial(
  path: string,
  source: AssetSource,
  isDurable: boolean,
): Promise<AsyncDisposable & { readonly path: string }> {
  const partial = `${path}.${randomBytes(6).toString('hex')}.part`;
  const remove = () => rm(partial, { force: true });
  try {
    await pipeline(
      Readable.from(source instanceof Uint8Array ? [source] : source, { objectMode: false }),
      createWriteStream(partial, { flags: 'wx', flush: isDurable }),
    );
    return { path: partial, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw toStorageError(error);
  }
}
