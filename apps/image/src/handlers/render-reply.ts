import type { Asset } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageOutput, ImageResponseFormat } from '@gateway/contracts/jobs';
import { signAssetUrl } from '@gateway/jobs/asset-url';
import { base64Pieces } from '../files/base64-pieces.ts';
import type { ImageService } from './image-service.ts';

type Renderer = Pick<ImageService, 'assets' | 'publicUrl' | 'secret' | 'now'>;

/** The reply's JSON piece by piece: images may be large, and are never all in memory. */
export async function* renderReply(
  service: Renderer,
  { created, images, members }: ImageOutput,
  format: ImageResponseFormat,
): AsyncGenerator<string> {
  yield `{"created":${created},"data":[`;
  for (const [index, image] of images.entries()) {
    if (index > 0) yield ',';
    const rest = JSON.stringify(image.members).slice(1, -1);
    const more = rest === '' ? '' : `,${rest}`;
    if (format === 'url') {
      yield `{"url":${JSON.stringify(urlOf(service, image.assetId))}${more}}`;
      continue;
    }
    yield '{"b64_json":"';
    yield* base64Pieces((await openAsset(service, image.assetId)).stream());
    yield `"${more}}`;
  }
  const rest = JSON.stringify(members).slice(1, -1);
  yield rest === '' ? ']}' : `],${rest}}`;
}

const urlOf = ({ publicUrl, secret, now }: Renderer, id: string): string =>
  signAssetUrl({ publicUrl, secret, id, now: now() });

async function openAsset({ assets }: Renderer, id: string): Promise<Asset> {
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
