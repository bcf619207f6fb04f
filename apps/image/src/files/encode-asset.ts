import type { Asset, AssetStore } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { base64Pieces } from './base64.ts';

/** A stored image in base64, piece by piece. @throws {GatewayError} `internal` where it is not there */
export async function* encodeAsset(assets: Pick<AssetStore, 'open'>, id: string): AsyncGenerator<string> {
  yield* base64Pieces((await openAsset(assets, id)).stream());
}

async function openAsset(assets: Pick<AssetStore, 'open'>, id: string): Promise<Asset> {
  const asset = await assets.open(id);
  if (asset !== undefined) return asset;
  throw new GatewayError('internal', {
    message: 'The image was made but cannot be found. Report the request id.',
    retry: false,
    cause: new Error(
      `no asset ${id}: do service and worker have the same ASSETS_URL, or share GATEWAY_DATA_DIR?`,
    ),
  });
}
