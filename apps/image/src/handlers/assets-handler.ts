import { pipeline } from 'node:stream/promises';
import type { AssetInfo, ByteRange } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { verifyAssetUrl } from '@gateway/jobs/files/asset-url';
import { writeError } from '@gateway/service-kit/error-response';
import type { Handler } from '@gateway/service-kit/request/handler';
import { contextOf } from '@gateway/service-kit/request/request-context';
import type { ErrorRequestHandler, Express, Request, RequestHandler } from 'express';
import type { ImageService } from './image-service.ts';

/** Only images are handed out; a job's stored output is in the same store. */
const IMAGE = /^image\//;
/** May hold scripts: shown with our headers only, and by nobody else. */
const SCRIPTABLE = 'image/svg+xml';
/** How long a URL at the store holds at most; following it takes a moment. */
const MAX_REDIRECT_SECONDS = 300;

type AssetService = Pick<ImageService, 'assets' | 'secret' | 'now'>;

/** Express knows ranges, and whether a caller's copy is fresh. It is loaded with the first image that is fetched. */
export function serveAssets(service: AssetService): Handler {
  let app: Promise<Express> | undefined;
  return async (request, response) => {
    app ??= createApp(service);
    (await app)(request, response);
  };
}

async function createApp(service: AssetService): Promise<Express> {
  const { default: express } = await import('express');
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.get('/v1/images/assets/:id', assetsHandler(service));
  const onError: ErrorRequestHandler = (error, request, response, _next) =>
    writeError(response, error, contextOf(request));
  app.use(onError);
  return app;
}

/**
 * `GET` and `HEAD /v1/images/assets/{id}`: an image, or a range of it, to anybody with its signed URL. Where the store can be
 * reached by callers, they are sent there.
 */
const assetsHandler =
  ({ assets, secret, now }: AssetService): RequestHandler =>
  async (request, response) => {
    const id = String(request.params.id);
    const { expires, signature } = request.query;
    const nowMs = now();
    if (!verifyAssetUrl({ secret, id, expires, signature, now: nowMs })) throw forbidden();
    const info = await assets.head(id);
    if (info === undefined || !IMAGE.test(info.contentType)) throw gone();
    const { requestId } = contextOf(request);
    const common = {
      'cache-control': 'private, max-age=3600',
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
      'request-id': requestId,
    };
    const expiresInSeconds = Math.min(Number(expires) - Math.floor(nowMs / 1000), MAX_REDIRECT_SECONDS);
    const contentDisposition = dispositionOf(info);
    const isElsewhere = request.method === 'GET' && info.contentType !== SCRIPTABLE;
    const location = isElsewhere
      ? await assets.urlOf(id, { expiresInSeconds, contentDisposition })
      : undefined;
    if (location !== undefined) {
      // A browser that kept this for longer than the URL holds would be refused by the store.
      response.setHeaders(new Headers({ ...common, 'cache-control': 'no-store', location }));
      response.status(302).end();
      return;
    }
    const range = rangeOf(request, info);
    response.setHeaders(
      new Headers({
        ...common,
        'content-type': info.contentType,
        'content-disposition': contentDisposition,
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        'accept-ranges': 'bytes',
        etag: info.etag,
        'last-modified': lastModified(info),
      }),
    );
    if (request.fresh) {
      response.status(304).end();
      return;
    }
    response.setHeader('content-length', range === undefined ? info.sizeBytes : range.end - range.start + 1);
    if (range !== undefined) {
      response.setHeader('content-range', `bytes ${range.start}-${range.end}/${info.sizeBytes}`);
      response.status(206);
    }
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    const asset = await assets.open(id, range);
    if (asset?.etag !== info.etag) {
      await asset?.close();
      for (const name of response.getHeaderNames()) response.removeHeader(name);
      throw gone();
    }
    await pipeline(asset.stream(), response);
  };

/** With the id as its name, which is as good as any and needs no escapes. */
const dispositionOf = ({ id, contentType }: AssetInfo): string =>
  `${contentType === SCRIPTABLE ? 'attachment' : 'inline'}; filename="${id}"`;

const lastModified = ({ storedAtMs }: AssetInfo): string => new Date(storedAtMs).toUTCString();

/**
 * The range that is wanted; undefined for the whole. Several ranges are answered with the whole, as RFC 9110 (14.2) allows.
 *
 * @throws {GatewayError} `range_not_satisfiable`
 */
function rangeOf(request: Request, info: AssetInfo): ByteRange | undefined {
  const { sizeBytes } = info;
  if (request.method !== 'GET' || !isSameAs(request.headers['if-range'], info)) return undefined;
  const ranges = request.range(sizeBytes, { combine: true });
  if (ranges === -1)
    throw new GatewayError('range_not_satisfiable', {
      message: `The image has ${sizeBytes} bytes, none of which are in the requested range.`,
      headers: { 'content-range': `bytes */${sizeBytes}` },
    });
  if (ranges === undefined || ranges === -2 || ranges.type !== 'bytes') return undefined;
  const [range, ...others] = ranges;
  return range === undefined || others.length > 0 ? undefined : { start: range.start, end: range.end };
}

/** Whether the caller's part is of the same bytes. A date does as well as an etag where it is exactly ours. */
const isSameAs = (validator: string | string[] | undefined, info: AssetInfo): boolean =>
  validator === undefined || validator === info.etag || validator === lastModified(info);

const forbidden = (): GatewayError =>
  new GatewayError(
    'asset_forbidden',
    'This URL has expired or was altered. Image URLs are valid for 60 minutes; create the image again.',
  );

const gone = (): GatewayError => new GatewayError('object_not_found', 'This image no longer exists.');
