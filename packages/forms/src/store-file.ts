import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

interface StoreOptions {
  readonly path: string;
  readonly maxBytes: number;
  readonly tooLarge: () => Error;
}

/**
 * Writes a file as it arrives. Rejects with `tooLarge()` at the first byte beyond the bound, and only when nothing more is written.
 * Resolves to its size in bytes.
 */
export async function storeFile(
  source: Readable,
  { path, maxBytes, tooLarge }: StoreOptions,
): Promise<number> {
  let sizeBytes = 0;
  async function* bounded(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw tooLarge();
      yield chunk;
    }
  }
  const file = createWriteStream(path, { flags: 'wx' });
  try {
    await pipeline(source, bounded, file);
  } catch (error) {
    // The pipeline does not wait for a file that is still being opened.
    if (!file.closed) await once(file, 'close');
    throw error;
  }
  return sizeBytes;
}
