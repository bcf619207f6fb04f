import type { Asset } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageOutput, ImageResponseFormat } from '@gateway/contracts/jobs';
import { signAssetUrl } from '@gateway/jobs/asset-url';
import type { ImageService } from './image-service.ts';

type Renderer = Pick<ImageService, 'assets' | 'publicUrl' | 'secret' | 'now'>;

/** Base64 of every three bytes stands for itself, so that a file can be encoded piece by piece. */
const BASE64_UNIT_BYTES = 3;

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
    yield* base64(await openAsset(service, image.assetId));
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

async function* base64(asset: Asset): AsyncGenerator<string> {
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
