import * as z from 'zod/mini';

/** A comparison as a link has it: what was asked, and what came. */
const Shared = z.object({
  message: z.string(),
  system: z.string(),
  tools: z.string(),
  schema: z.string(),
  answers: z.array(z.object({ model: z.string(), text: z.string() })),
});
export type Shared = z.output<typeof Shared>;

const PREFIX = 'share=';
/** Longer addresses are cut off by chats and mail programs. */
const MAX_LENGTH = 30_000;
/** What a link may unpack to, in bytes. */
const MAX_LENGTH_UNPACKED = 5_000_000;

/** The part of an address after `#`, which browsers send to no server. Without the answers where they are too long; null: too long. */
export async function hashOf(shared: Shared): Promise<{ hash: string; hasAnswers: boolean } | null> {
  for (const one of [shared, { ...shared, answers: [] }]) {
    const text = new Blob([JSON.stringify(one)]).stream();
    const hash = PREFIX + base64Url(await bytesOf(text.pipeThrough(new CompressionStream('deflate-raw'))));
    if (hash.length <= MAX_LENGTH) return { hash, hasAnswers: one.answers.length > 0 };
  }
  return null;
}

/** What is in an address's part after `#`. Undefined: no comparison; null: one that cannot be read. */
export async function readShared(hash: string): Promise<Shared | null | undefined> {
  if (!hash.startsWith(PREFIX)) return undefined;
  try {
    const packed = new Blob([fromBase64Url(hash.slice(PREFIX.length))]).stream();
    const bytes = await bytesOf(packed.pipeThrough(new DecompressionStream('deflate-raw')));
    return Shared.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return null;
  }
}

/** @throws {RangeError} for a stream that does not end */
async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    if (length > MAX_LENGTH_UNPACKED) throw new RangeError('too long');
    chunks.push(Uint8Array.from(next.value));
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

const base64Url = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

const fromBase64Url = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (sign) => sign.charCodeAt(0));
