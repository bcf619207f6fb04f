import { assetId } from '@gateway/assets/asset-id';
import type { AssetStore } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageOutput, ImageResponseFormat } from '@gateway/contracts/jobs';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { ProviderTime } from '@gateway/contracts/openai/images';
import { z } from 'zod';
import { imageTypeOf } from '../../files/image-header.ts';
import { sourceOf } from '../../files/image-source.ts';
import { storedEvent } from '../../stream/job-events.ts';
import { noImage } from './store-images.ts';

const ImageEvent = z.looseObject({
  type: z.string(),
  b64_json: z.string(),
  created_at: ProviderTime,
});

/** A data URL's head is shorter. */
const HEAD_CHARACTERS = 256;

/** The members of an event about all images of a reply, as the whole reply has them. */
const REPLY_MEMBERS = new Set(['background', 'output_format', 'quality', 'size', 'usage']);

/** What a stream of images came to, besides the images. */
interface StreamEnd
  extends Pick<
    ImageOutput,
    'channel' | 'upstreamAttempts' | 'attemptList' | 'account' | 'dropped' | 'costMicroUsd'
  > {
  readonly responseFormat: ImageResponseFormat;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** Keeps the images of a stream as it passes, and emits them for those who follow its job. */
export interface ImageCollector {
  /** Takes an event's data. What is no image event is passed over. */
  take(data: string): void;
  /** Resolves when everything taken has been stored. @throws {GatewayError} `storage_full`, `upstream_failed`; none may be retried */
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
  const partialImages: { assetId: string; sizeBytes: number }[] = [];
  let last = Promise.resolve();

  const store = async (data: string): Promise<void> => {
    const event = ImageEvent.safeParse(jsonIn(data));
    if (!event.success) return;
    const { type, b64_json: base64, ...rest } = event.data;
    const isPartial = type.endsWith('.partial_image');
    if (!isPartial && !type.endsWith('.completed')) return;
    const bytes = Buffer.from(base64.slice(sourceOf(base64.slice(0, HEAD_CHARACTERS)).from), 'base64');
    const contentType = imageTypeOf(bytes);
    if (contentType === undefined) throw noImage();
    const index = isPartial ? `partial-${partialImages.length}` : images.length;
    const { id, sizeBytes } = await assets.put(assetId(jobId, index, contentType), bytes);
    if (isPartial) partialImages.push({ assetId: id, sizeBytes });
    else {
      const { created_at: created, ...reported } = rest;
      createdAt = created ?? createdAt;
      const entries = Object.entries(reported);
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
      await last.catch((error: unknown) => {
        throw paidFor(error);
      });
      return {
        ...end,
        created: Math.floor(createdAt ?? nowMs / 1000),
        images,
        members,
        dropped: [...dropped],
        ...(partialImages.length > 0 && { partialImages }),
      };
    },
  };
}

/** What broke after images had begun to come must not be requested again. */
export function paidFor(error: unknown): unknown {
  if (!(error instanceof GatewayError)) return error;
  return new GatewayError(error.code, { ...error.options, retry: false });
}
