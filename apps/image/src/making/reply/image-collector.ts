import { assetId } from '@gateway/assets/asset-id';
import type { AssetStore } from '@gateway/assets/asset-store';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageOutput, ImageResponseFormat } from '@gateway/contracts/jobs';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { ProviderTime } from '@gateway/contracts/openai/images';
import type { StreamHead } from '@gateway/model-service/jobs/stream-head';
import { z } from 'zod';
import { imageTypeOf } from '../../files/image-header.ts';
import { sourceOf } from '../../files/image-source.ts';
import { storedEvent } from '../../stream/job-events.ts';
import { badReply, MAX_REPLY_BYTES } from '../request/call-upstream.ts';
import { noImage } from './store-images.ts';

const ImageEvent = z.looseObject({
  type: z.string(),
  b64_json: z.string(),
  created_at: ProviderTime,
});

const OtherEvent = z.looseObject({ type: z.string() });
/** An event without an image is not longer. */
const MAX_OTHER_CHARACTERS = 60_000;

/** A data URL's head is shorter. */
const HEAD_CHARACTERS = 256;

/** The members of an event about all images of a reply, as the whole reply has them. */
const REPLY_MEMBERS = new Set(['background', 'output_format', 'quality', 'size', 'usage']);

/** What a stream of images came to, besides the images. */
interface StreamEnd extends Pick<ImageOutput, 'channel' | 'upstreamAttempts' | 'dropped' | 'costMicroUsd'> {
  readonly responseFormat: ImageResponseFormat;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** Stores the images of a stream as they come, and emits their events for those who follow the job. */
export interface ImageCollector {
  /** Takes an event's data. */
  take(data: string): void;
  /** Resolves when everything taken has been stored. @throws {GatewayError} `storage_full`, `upstream_failed`; none may be retried */
  stored(): Promise<void>;
  /** What it came to, when everything has been stored. */
  finish(end: StreamEnd): Promise<ImageOutput>;
}

interface CollectorOptions {
  readonly assets: Pick<AssetStore, 'put'>;
  readonly jobId: string;
  /** Null where nobody follows the events: then only whole images are wanted. */
  readonly emit: ((...texts: string[]) => Promise<void>) | null;
  /** Who answers; emitted before the first event. */
  readonly head: StreamHead;
  /** How much all of its images may have. */
  readonly maxBytes?: number;
}

export function createImageCollector(options: CollectorOptions): ImageCollector {
  const { assets, jobId, emit, head, maxBytes = MAX_REPLY_BYTES } = options;
  const images: ImageOutput['images'] = [];
  let members: ImageOutput['members'] = {};
  let createdAt: number | undefined;
  const partialImages: { assetId: string; sizeBytes: number }[] = [];
  let storedBytes = 0;
  let last = Promise.resolve();
  let lead = [JSON.stringify(head)];

  const tell = async (event: string): Promise<void> => {
    const before = lead;
    lead = [];
    await emit?.(...before, event);
  };

  /** What a caller gets as it comes need not be an image that is known here. */
  const put = async (part: number | string, base64: string, isDurable: boolean) => {
    const bytes = Buffer.from(base64.slice(sourceOf(base64.slice(0, HEAD_CHARACTERS)).from), 'base64');
    storedBytes += bytes.length;
    if (storedBytes > maxBytes) throw badReply('The upstream sent more images than can be stored.');
    const known = imageTypeOf(bytes);
    if (known === undefined && emit === null) throw noImage();
    const contentType = known ?? 'application/octet-stream';
    const { id, sizeBytes } = await assets.put(assetId(jobId, part, contentType), bytes, { isDurable });
    return { assetId: id, contentType, sizeBytes };
  };

  const store = async (data: string): Promise<void> => {
    const parsed = jsonIn(data);
    const event = ImageEvent.safeParse(parsed);
    const kind = /\.(partial_image|completed)$/.exec(event.data?.type ?? '')?.[1];
    if (!event.success || kind === undefined) {
      const other = OtherEvent.safeParse(parsed).data;
      if (other !== undefined && data.length <= MAX_OTHER_CHARACTERS)
        await tell(storedEvent({ type: other.type, data, image: null }));
      return;
    }
    const { type, b64_json: base64, ...rest } = event.data;
    const isPartial = kind === 'partial_image';
    if (isPartial && emit === null) return;
    // What only goes before the image need not outlive a machine.
    const image = await put(
      isPartial ? `partial-${partialImages.length}` : images.length,
      base64,
      !isPartial,
    );
    if (isPartial) partialImages.push({ assetId: image.assetId, sizeBytes: image.sizeBytes });
    else {
      const { created_at: created, ...reported } = rest;
      createdAt = created ?? createdAt;
      const entries = Object.entries(reported);
      members = { ...members, ...Object.fromEntries(entries.filter(([name]) => REPLY_MEMBERS.has(name))) };
      const own = Object.fromEntries(entries.filter(([name]) => !REPLY_MEMBERS.has(name)));
      images.push({ ...image, members: own });
    }
    await tell(storedEvent({ type, data, image: { base64, assetId: image.assetId } }));
  };

  const stored = (): Promise<void> =>
    last.catch((error: unknown) => {
      throw paidFor(error);
    });
  return {
    take: (data) => {
      last = last.then(() => store(data));
      last.catch(() => undefined);
    },
    stored,
    finish: async ({ nowMs, dropped, ...end }) => {
      await stored();
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
