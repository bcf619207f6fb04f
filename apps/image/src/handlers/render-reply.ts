import type { ImageOutput, ImageResponseFormat } from '@gateway/contracts/jobs';
import { signAssetUrl } from '@gateway/jobs/files/asset-url';
import { encodeAsset } from '../files/base64.ts';
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
    yield* encodeAsset(service.assets, image.assetId);
    yield `"${more}}`;
  }
  const rest = JSON.stringify(members).slice(1, -1);
  yield rest === '' ? ']}' : `],${rest}}`;
}

const urlOf = ({ publicUrl, secret, now }: Renderer, id: string): string =>
  signAssetUrl({ publicUrl, secret, id, now: now() });
