import { assetId } from '@gateway/assets/asset-id';
import type { AssetStore } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageOutput, ImageResponseFormat } from '@gateway/contracts/jobs';
import type { TextChecks } from '@gateway/hooks/text-checks';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { ContentLog } from '@gateway/model-service/content-log/content-log';
import type { Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import type { Upstream } from '@gateway/upstream/upstream';
import { imageTypeOf } from '../../files/image-header.ts';
import { badReply } from '../request/call-upstream.ts';
import { fetchImage } from './fetch-image.ts';
import type { ReceivedImages } from './receive-images.ts';

/** What the making of images needs. */
export interface ImageMaker {
  readonly checks: TextChecks;
  readonly contentLog: ContentLog;
  readonly upstream: Upstream;
  readonly assets: AssetStore;
  readonly uploads: UploadStore;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The first bytes of a file show whether it is an image. */
const HEAD_BYTES = 1024;

export type StoredImage = Omit<ImageOutput['images'][number], 'members'>;

/**
 * Stores an image of a job while its bytes come. Undefined where there are none.
 *
 * @throws {GatewayError} `upstream_failed` for what is no image, `storage_full`, `service_unavailable`
 */
export async function storeImage(
  assets: ImageMaker['assets'],
  { jobId, index }: { jobId: string; index: number },
  bytes: AsyncIterable<Buffer>,
): Promise<StoredImage | undefined> {
  const { head, whole } = await readHead(bytes);
  if (head.length === 0) return undefined;
  const contentType = imageTypeOf(head);
  if (contentType === undefined) throw noImage();
  const { id, sizeBytes } = await assets.put(assetId(jobId, index, contentType), whole);
  return { assetId: id, contentType, sizeBytes };
}

async function readHead(
  bytes: AsyncIterable<Buffer>,
): Promise<{ head: Buffer; whole: AsyncIterable<Buffer> }> {
  const chunks = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < HEAD_BYTES) {
    const next = await chunks.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  async function* whole() {
    yield head;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
  }
  return { head, whole: whole() };
}

interface StoreOptions {
  readonly maker: Pick<ImageMaker, 'upstream' | 'assets' | 'now'>;
  readonly jobId: string;
  readonly reply: Reply;
  readonly received: ReceivedImages<StoredImage>;
  readonly dropped: readonly string[];
  readonly costMicroUsd: number | null;
  readonly responseFormat: ImageResponseFormat;
}

/**
 * The output of a job whose images are stored, or lie with the upstream and are fetched now. Not stopped by a caller who leaves,
 * and no failure here may be repeated: it has been paid for.
 *
 * @throws {GatewayError} `storage_full`, `upstream_failed` or `upstream_timeout` for a URL that cannot be fetched
 */
export async function storeImages(options: StoreOptions): Promise<ImageOutput> {
  try {
    return await store(options);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError(error.code, { ...error.options, retry: false });
  }
}

async function store({
  maker,
  jobId,
  reply,
  received,
  dropped,
  ...more
}: StoreOptions): Promise<ImageOutput> {
  if (received.failure !== undefined) throw received.failure.reason;
  const { data, created, ...members } = received.images;
  const { candidate } = reply;
  const stored: ImageOutput['images'] = [];
  const missing: { readonly index: number; readonly reason: GatewayError }[] = [];
  for (const [index, { url, ...rest }] of data.entries()) {
    try {
      const image =
        received.kept.get(index) ??
        (url
          ? await fetchImage(maker.upstream, { url, candidate }, (chunks) =>
              storeImage(maker.assets, { jobId, index }, chunks),
            )
          : undefined);
      if (image === undefined) throw received.unusable.get(index) ?? withoutImage();
      stored.push({ ...image, members: rest });
    } catch (error) {
      // The others have been paid for, so they are delivered; what cannot be stored here is another matter.
      if (!(error instanceof GatewayError && error.source === 'upstream')) throw error;
      missing.push({ index, reason: error });
    }
  }
  const [first] = missing;
  if (first !== undefined && stored.length === 0) throw first.reason;
  return {
    created: Math.floor(created ?? maker.now() / 1000),
    images: stored,
    members,
    dropped: [...dropped, ...missing.map(({ index }) => `data[${index}]`)],
    channel: candidate.channel.name,
    upstreamAttempts: reply.attempts.length,
    costMicroUsd: more.costMicroUsd,
    responseFormat: more.responseFormat,
  };
}

export const noImage = (): UnreadableReply => badReply('The upstream sent something that is not an image.');

export const withoutImage = (): UnreadableReply => badReply('The upstream sent an entry without an image.');
