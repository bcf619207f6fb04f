import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

interface StoreOptions {
  readonly path: string;
  readonly maxBytes: number;
  readonly tooLarge: () => Error;
}

/** Writes a file as it arrives. Rejects with `tooLarge()` at the first byte beyond the bound. Resolves to its size in bytes. */
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
  await pipeline(source, bounded, createWriteStream(path, { flags: 'wx' }));
  return sizeBytes;
}
