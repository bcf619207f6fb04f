import { pipeline } from 'node:stream/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { verifyAssetUrl } from '@gateway/jobs/asset-url';
import { contextOf } from '@gateway/service-kit/request-context';
import type { RequestHandler } from 'express';
import type { ImageService } from './image-service.ts';

/** Only images are handed out; a job's stored output lies in the same place. */
const IMAGE = /^image\//;

/** `GET` and `HEAD /v1/images/assets/{id}`: an image, to anybody with its signed URL. */
export const assetsHandler =
  ({ assets, secret, now }: Pick<ImageService, 'assets' | 'secret' | 'now'>): RequestHandler =>
  async (request, response) => {
    const id = String(request.params.id);
    const { expires, signature } = request.query;
    if (!verifyAssetUrl({ secret, id, expires, signature, now: now() })) {
      throw new GatewayError(
        'asset_forbidden',
        'This URL has expired or was altered. Image URLs are valid for 60 minutes; make the image again.',
      );
    }
    const asset = await assets.open(id);
    if (asset === undefined || !IMAGE.test(asset.contentType)) {
      await asset?.close();
      throw new GatewayError('object_not_found', 'This image is no longer there.');
    }
    const { requestId } = contextOf(request);
    response.setHeaders(
      new Headers({
        'content-type': asset.contentType,
        'content-length': String(asset.sizeBytes),
        'cache-control': 'private, max-age=3600',
        'x-content-type-options': 'nosniff',
        // An SVG may hold scripts.
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        'x-request-id': requestId,
        'request-id': requestId,
      }),
    );
    if (request.method === 'HEAD') {
      await asset.close();
      response.end();
      return;
    }
    await pipeline(asset.stream(), response);
  };
