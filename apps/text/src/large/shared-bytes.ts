import { LARGE_BODY_BYTES } from '@gateway/service-kit/request/json-body';

/**
 * Whether a body of so many bytes is worked on in the thread: in the event loop it would keep all others waiting for longer
 * than they notice.
 */
export const isLarge = (bytes: number): boolean => bytes > LARGE_BODY_BYTES;

/** The same for its values: members of objects and entries of lists. */
export const MAX_VALUES_HERE = 10_000;
/** The same for stored items, of which each is parsed by itself. */
export const MAX_ITEMS_HERE = 1_000;

/** The same bytes in memory that the event loop and the thread have in common, so that they are not copied for each task. */
export function sharedBytes(bytes: Buffer): Buffer {
  if (bytes.buffer instanceof SharedArrayBuffer) return bytes;
  const shared = Buffer.from(new SharedArrayBuffer(bytes.length));
  bytes.copy(shared);
  return shared;
}

/** A text as such bytes. */
export function sharedText(text: string): Buffer {
  const shared = Buffer.from(new SharedArrayBuffer(Buffer.byteLength(text)));
  shared.write(text);
  return shared;
}

/** Bytes that come in pieces, of which the size is known, as such bytes. */
export async function gatherShared(sizeBytes: number, chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const bytes = Buffer.from(new SharedArrayBuffer(sizeBytes));
  let at = 0;
  for await (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** Bytes as they arrive on the other side. */
export const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
