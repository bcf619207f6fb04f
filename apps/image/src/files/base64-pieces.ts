/** Base64 of every three bytes is independent of the rest, so that a file can be encoded piece by piece. */
const UNIT_BYTES = 3;

/** Encodes chunks as they come, never all at once. */
export async function* base64Pieces(chunks: AsyncIterable<unknown>): AsyncGenerator<string> {
  let left = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (!Buffer.isBuffer(chunk)) continue;
    const bytes = left.length === 0 ? chunk : Buffer.concat([left, chunk]);
    const whole = bytes.length - (bytes.length % UNIT_BYTES);
    yield bytes.toString('base64', 0, whole);
    left = Buffer.from(bytes.subarray(whole));
  }
  yield left.toString('base64');
}

/** How long base64 of so many bytes is, in characters. */
export const base64Length = (sizeBytes: number): number => Math.ceil(sizeBytes / UNIT_BYTES) * 4;
