import type { ImageOutput, ImageResponseFormat } from '@gateway/contracts/jobs';
import { type AssetStore, assetId } from '@gateway/jobs/asset-store';
import { z } from 'zod';
import { imageTypeOf } from '../files/image-type.ts';
import { storedEvent } from '../stream/job-events.ts';
import { badReply } from './ask-upstream.ts';

const ImageEvent = z.looseObject({
  type: z.string(),
  b64_json: z.string(),
  created_at: z.number().optional().catch(undefined),
});

/** What an event says of all images of a reply, as the whole reply does. */
const REPLY_MEMBERS = new Set(['background', 'output_format', 'quality', 'size', 'usage']);

/** What a stream of images came to, besides the images. */
interface StreamEnd extends Pick<ImageOutput, 'channel' | 'upstreamAttempts' | 'dropped' | 'costMicroUsd'> {
  readonly responseFormat: ImageResponseFormat;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** Keeps the images of a stream as it goes by, and tells those who follow its job. */
export interface ImageCollector {
  /** Takes an event's data. What is no image event is passed over. */
  take(data: string): void;
  /** Resolves when everything taken has been stored. @throws {GatewayError} `storage_full`, `upstream_failed` */
  finish(end: StreamEnd): Promise<ImageOutput>;
}

interface CollectorOptions {
  readonly assets: Pick<AssetStore, 'put'>;
  readonly jobId: string;
  readonly emit: (text: string) => Promise<void>;
}

export function createImageCollector({ assets, jobId, emit }: CollectorOptions): ImageCollector {
  const images: ImageOutput['images'] = [];
  let members: ImageOutput['members'] = {};
  let createdAt: number | undefined;
  const partialAssetIds: string[] = [];
  let last = Promise.resolve();

  const store = async (data: string): Promise<void> => {
    const event = ImageEvent.safeParse(jsonIn(data));
    if (!event.success) return;
    const { type, b64_json: base64, ...rest } = event.data;
    const isPartial = type.endsWith('.partial_image');
    if (!isPartial && !type.endsWith('.completed')) return;
    const bytes = Buffer.from(base64, 'base64');
    const contentType = imageTypeOf(bytes);
    if (contentType === undefined) throw badReply('The upstream sent something that is no image.');
    const index = isPartial ? `partial-${partialAssetIds.length}` : images.length;
    const { id, sizeBytes } = await assets.put(assetId(jobId, index, contentType), bytes);
    if (isPartial) partialAssetIds.push(id);
    else {
      const { created_at: created, ...said } = rest;
      createdAt = created ?? createdAt;
      const entries = Object.entries(said);
      members = { ...members, ...Object.fromEntries(entries.filter(([name]) => REPLY_MEMBERS.has(name))) };
      const own = Object.fromEntries(entries.filter(([name]) => !REPLY_MEMBERS.has(name)));
      images.push({ assetId: id, contentType, sizeBytes, members: own });
    }
    await emit(storedEvent({ type, members: rest, assetId: id }));
  };

  return {
    take: (data) => {
      last = last.then(() => store(data));
      last.catch(() => undefined);
    },
    finish: async ({ nowMs, dropped, ...end }) => {
      await last;
      return {
        ...end,
        created: Math.floor(createdAt ?? nowMs / 1000),
        images,
        members,
        dropped: [...dropped],
        ...(partialAssetIds.length > 0 && { partialAssetIds }),
      };
    },
  };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
