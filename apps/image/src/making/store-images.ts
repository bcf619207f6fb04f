import { setTimeout as delay } from 'node:timers/promises';
import { assetId } from '@gateway/assets/asset-id';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageOutput } from '@gateway/contracts/jobs';
import type { ImagesReply } from '@gateway/contracts/openai/images';
import type { Channel } from '@gateway/upstream/configuration/configuration';
import type { Reply } from '@gateway/upstream/reply';
import { imageTypeOf } from '../files/image-type.ts';
import { badReply } from './ask-upstream.ts';
import type { ImageMaker } from './image-maker.ts';

const MAX_IMAGE_BYTES = 100 * 1024 * 1024;
const FETCH_ATTEMPTS = 3;
const FETCH_PAUSE_MS = 250;
const DATA_URL = /^data:[^,]*;base64,/;

interface StoreOptions {
  readonly maker: Pick<ImageMaker, 'upstream' | 'assets' | 'now'>;
  readonly jobId: string;
  readonly reply: Reply;
  readonly images: ImagesReply;
  readonly dropped: readonly string[];
  readonly costMicroUsd: number | null;
}

/**
 * Keeps what the upstream made. Not stopped by a caller who leaves, and no failure here may be repeated: it has been paid for.
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

async function store({ maker, jobId, reply, images, dropped, ...more }: StoreOptions): Promise<ImageOutput> {
  const { data, created, ...members } = images;
  const stored: ImageOutput['images'] = [];
  for (const [index, { b64_json: base64, url, ...rest }] of data.entries()) {
    const bytes = await bytesOf({ base64, url }, maker, reply.candidate.channel);
    const contentType = imageTypeOf(bytes);
    if (contentType === undefined) throw badReply('The upstream sent something that is no image.');
    const { id, sizeBytes } = await maker.assets.put(assetId(jobId, index, contentType), bytes);
    stored.push({ assetId: id, contentType, sizeBytes, members: rest });
  }
  return {
    created: Math.floor(created ?? maker.now() / 1000),
    images: stored,
    members,
    dropped: [...dropped],
    channel: reply.candidate.channel.name,
    upstreamAttempts: reply.attempts.length,
    costMicroUsd: more.costMicroUsd,
  };
}

async function bytesOf(
  { base64, url }: { base64: string | null | undefined; url: string | null | undefined },
  { upstream }: Pick<ImageMaker, 'upstream'>,
  channel: Channel,
): Promise<Buffer> {
  if (base64) return Buffer.from(base64, 'base64');
  if (!url) throw badReply('The upstream sent an entry without an image.');
  const inline = DATA_URL.exec(url);
  if (inline !== null) return Buffer.from(url.slice(inline[0].length), 'base64');
  return fetchImage(upstream, url, channel);
}

/** Fetching costs nothing, unlike making, so it is tried more than once. */
async function fetchImage(upstream: ImageMaker['upstream'], url: string, channel: Channel): Promise<Buffer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { bytes } = await upstream.fetchAsset({ url, channel, maxBytes: MAX_IMAGE_BYTES });
      return bytes;
    } catch (error) {
      if (attempt === FETCH_ATTEMPTS) throw error;
      await delay(attempt * FETCH_PAUSE_MS);
    }
  }
}
