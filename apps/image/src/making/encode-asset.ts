import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Asset, AssetStore } from '@gateway/jobs/asset-store';

/** Base64 of every three bytes stands for itself, so that a file can be encoded piece by piece. */
const BASE64_UNIT_BYTES = 3;

/** A stored image in base64, piece by piece. @throws {GatewayError} `internal` where it is not there */
export async function* encodeAsset(assets: Pick<AssetStore, 'open'>, id: string): AsyncGenerator<string> {
  const asset = await openAsset(assets, id);
  let left = Buffer.alloc(0);
  for await (const chunk of asset.stream()) {
    if (!Buffer.isBuffer(chunk)) continue;
    const bytes = left.length === 0 ? chunk : Buffer.concat([left, chunk]);
    const whole = bytes.length - (bytes.length % BASE64_UNIT_BYTES);
    yield bytes.toString('base64', 0, whole);
    left = Buffer.from(bytes.subarray(whole));
  }
  yield left.toString('base64');
}

async function openAsset(assets: Pick<AssetStore, 'open'>, id: string): Promise<Asset> {
  const asset = await assets.open(id);
  if (asset !== undefined) return asset;
  throw new GatewayError('internal', {
    message: 'The image was made but cannot be found. Report the request id.',
    retry: false,
    cause: new Error(`no asset ${id}: do service and worker share GATEWAY_DATA_DIR?`),
  });
}
