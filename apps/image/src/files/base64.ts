import type { Asset, AssetStore } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';

const FOREIGN = /[^A-Za-z0-9+/_-]+/g;
/** Four characters encode three bytes. */
const UNIT_CHARACTERS = 4;

/** The bytes of base64 that comes in parts of any length, with or without line ends, in either alphabet. */
export async function* decodeBase64(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = '';
  for await (const part of parts) {
    const text = left + part.toString('latin1').replace(FOREIGN, '');
    const whole = text.length - (text.length % UNIT_CHARACTERS);
    left = text.slice(whole);
    if (whole > 0) yield Buffer.from(text.slice(0, whole), 'base64');
  }
  if (left !== '') yield Buffer.from(left, 'base64');
}

/** Base64 as everybody reads it: in the usual alphabet, padded, and in one line. */
export const plainBase64 = (text: string): string =>
  text.length % UNIT_CHARACTERS === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
    ? text
    : Buffer.from(text, 'base64').toString('base64');

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

/** A stored image in base64, piece by piece. @throws {GatewayError} `internal` if the store does not have it */
export async function* encodeAsset(assets: Pick<AssetStore, 'open'>, id: string): AsyncGenerator<string> {
  yield* base64Pieces((await openAsset(assets, id)).stream());
}

async function openAsset(assets: Pick<AssetStore, 'open'>, id: string): Promise<Asset> {
  const asset = await assets.open(id);
  if (asset !== undefined) return asset;
  throw new GatewayError('internal', {
    message: 'The image was created but cannot be found. Report the request id.',
    retry: false,
    cause: new Error(
      `no asset ${id}: do service and worker have the same ASSETS_URL, or share GATEWAY_DATA_DIR?`,
    ),
  });
}
