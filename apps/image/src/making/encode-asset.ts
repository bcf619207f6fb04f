import { GatewayError } from '@gateway/contracts/gateway-error';
import type { AssetStore } from '@gateway/jobs/asset-store';
import { base64Pieces } from '../files/base64-pieces.ts';

/** A stored image in base64, piece by piece. @throws {GatewayError} `internal` where it is not there */
export async function* encodeAsset(assets: Pick<AssetStore, 'open'>, id: string): AsyncGenerator<string> {
  const asset = await assets.open(id);
  if (asset === undefined)
    throw new GatewayError('internal', {
      message: 'The image was made but cannot be found. Report the request id.',
      retry: false,
      cause: new Error(`no asset ${id}: do service and worker share GATEWAY_DATA_DIR?`),
    });
  yield* base64Pieces(asset.stream());
}
