import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';

const NO_SPACE = new Set(['ENOSPC', 'EDQUOT']);

/** A disk without room, as something that a caller may be told; anything else as it is. */
export function toStorageError(error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error && NO_SPACE.has(String(error.code)))) return error;
  return new GatewayError('storage_full', {
    message: "The gateway's disk is full. Try again later, and tell the person who runs it.",
    cause: error,
  });
}

/**
 * Writes a whole file or nothing: under another name first, on disk before it gets its own.
 *
 * @throws {GatewayError} `storage_full`; whatever the source throws
 */
export async function writeWhole(
  path: string,
  source: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<{ sizeBytes: number }> {
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

/** Opens a file for reading, or undefined where there is none. */
export async function openFile(path: string) {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Deletes files that nobody has written to since then. Resolves to how many. */
export async function sweepFolder(folder: string, olderThanMs: number): Promise<number> {
  let swept = 0;
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined || !found.isFile() || found.mtimeMs >= olderThanMs) continue;
    await rm(path, { force: true });
    swept += 1;
  }
  return swept;
}

export const makeFolder = async (folder: string): Promise<void> =>
  void (await mkdir(folder, { recursive: true }));
