import { buffer } from 'node:stream/consumers';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { parseJson } from '@gateway/contracts/json/json-depth';
import type { ImagesReply } from '@gateway/contracts/openai/images';
import { type Reply, readCounted } from '@gateway/upstream/replies/reply';
import type { Upstream } from '@gateway/upstream/upstream';
import { plainBase64 } from '../../files/base64.ts';
import { imageTypeOf } from '../../files/image-header.ts';
import { sourceOf } from '../../files/image-source.ts';
import { badReply, MAX_REPLY_BYTES } from '../request/call-upstream.ts';
import { fetchImage } from './fetch-image.ts';
import { isImageBody, isImageUrl, MAX_URL_LENGTH, wholeReplyOf } from './reply-shape.ts';
import { noImage, withoutImage } from './store-images.ts';

/** All images of a reply at once, in base64. */
export interface WholeImages {
  readonly images: ImagesReply;
  /** What could not be had of it. */
  readonly missing: readonly string[];
}

/**
 * Reads what an upstream that does not stream answers to a request for a stream. A URL cannot be streamed, so what it leads to is; one
 * that cannot be fetched is named, since the others have been paid for.
 *
 * @throws {GatewayError} where no image can be had; not to be repeated
 */
export async function readWholeImages(
  reply: Reply,
  upstream: Pick<Upstream, 'fetchAsset'>,
): Promise<WholeImages> {
  const bytes = await reply.bytes(MAX_REPLY_BYTES);
  return readCounted(reply, async () => {
    const { images, texts } = isImageBody(reply.headers)
      ? { images: { data: [{}] }, texts: [{ text: bytes.toString('base64'), isNamedUrl: false }] }
      : readJson(bytes);
    const data: ImagesReply['data'] = [];
    const missing: { readonly name: string; readonly reason: GatewayError }[] = [];
    for (const [index, found] of texts.entries()) {
      try {
        if (found === undefined) throw withoutImage();
        data.push({ ...images.data[index], b64_json: await base64Of(found, reply, upstream) });
      } catch (error) {
        if (!(error instanceof GatewayError && error.source === 'upstream')) throw error;
        missing.push({ name: `data[${index}]`, reason: error });
      }
    }
    const [first] = missing;
    if (data.length === 0 && first !== undefined) throw first.reason;
    return { images: { ...images, data }, missing: missing.map(({ name }) => name) };
  });
}

function readJson(bytes: Buffer): ReturnType<typeof wholeReplyOf> {
  try {
    return wholeReplyOf(parseJson(bytes.toString()));
  } catch (error) {
    throw badReply('The upstream answered with something that holds no images.', error);
  }
}

async function base64Of(
  { text, isNamedUrl }: { readonly text: string; readonly isNamedUrl: boolean },
  { candidate }: Reply,
  upstream: Pick<Upstream, 'fetchAsset'>,
): Promise<string> {
  if (!isImageUrl(text, isNamedUrl))
    return plainBase64(text.slice(sourceOf(text.slice(0, MAX_URL_LENGTH)).from));
  return fetchImage(upstream, { url: text.trim(), candidate }, async (chunks) => {
    const image = await buffer(chunks);
    if (imageTypeOf(image) === undefined) throw noImage();
    return image.toString('base64');
  });
}
