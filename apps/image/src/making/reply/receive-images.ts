import type { GatewayError } from '@gateway/contracts/gateway-error';
import { parseJson } from '@gateway/contracts/json/json-depth';
import type { ImagesReply } from '@gateway/contracts/openai/images';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { decodeBase64 } from '../../files/base64.ts';
import { sourceOf } from '../../files/image-source.ts';
import { badReply, MAX_REPLY_BYTES } from '../request/call-upstream.ts';
import { type JsonPath, type JsonPiece, jsonPieces } from './json-pieces.ts';
import {
  type ImageList,
  imagePlace,
  isImageBody,
  isImageUrl,
  MAX_URL_LENGTH,
  replyOf,
} from './reply-shape.ts';

/** Without its images, all of a reply's JSON must fit here. */
const MAX_JSON_BYTES = 8 * 1024 * 1024;
/** Keeps an image whose bytes come. Undefined where there are none. */
type Keep<Kept> = (index: number, bytes: AsyncIterable<Buffer>) => Promise<Kept | undefined>;

export interface ReceivedImages<Kept> {
  /** The reply without the images that were in it. */
  readonly images: ImagesReply;
  /** What was kept, by its index in the reply. */
  readonly kept: ReadonlyMap<number, Kept>;
  /** What turned out to be no image, by its index in the reply. */
  readonly unusable: ReadonlyMap<number, UnreadableReply>;
  /** Why something could not be kept. The reply was read to its end all the same, since it reports what has been consumed. */
  readonly failure: { readonly reason: unknown } | undefined;
}

/**
 * Reads a reply with images and has each of them kept while it comes: none is ever whole in memory.
 *
 * @throws {GatewayError} as the reply breaks; `upstream_failed`, not to be repeated, for what is no reply with images
 */
export async function receiveImages<Kept>(reply: Reply, keep: Keep<Kept>): Promise<ReceivedImages<Kept>> {
  if (isImageBody(reply.headers)) return receiveBody(reply, keep);
  const pieces = jsonPieces(bounded(reply.body), (path) => imagePlace(path) !== null);
  const json: Buffer[] = [];
  let jsonBytes = 0;
  const kept = new Map<number, Kept>();
  const urls = new Map<number, string>();
  const unusable = new Map<number, UnreadableReply>();
  let failure: ReceivedImages<Kept>['failure'];
  /** Some servers have their images in two lists: the first one counts. */
  let list: ImageList | undefined;

  const begin = async (path: JsonPath) => {
    const place = imagePlace(path);
    list ??= place?.list;
    if (place === null || place.list !== list || kept.has(place.index)) return;
    const { index, isNamedUrl } = place;
    const parts = stringParts(pieces);
    try {
      const found = await sourceIn(parts, isNamedUrl);
      if ('url' in found) urls.set(index, found.url);
      else {
        const image = await keep(index, found.bytes);
        if (image !== undefined) kept.set(index, image);
      }
    } catch (error) {
      if (!(error instanceof UnreadableReply)) throw error;
      unusable.set(index, error);
    }
  };
  try {
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
      const piece = next.value;
      if (piece.kind === 'json') {
        jsonBytes += piece.bytes.length;
        if (jsonBytes > MAX_JSON_BYTES) throw tooLarge();
        json.push(piece.bytes);
      } else if (piece.kind === 'string-begin')
        await begin(piece.path).catch((reason: unknown) => {
          failure ??= { reason };
        });
    }
    const images = parseReply(Buffer.concat(json).toString(), list, urls);
    return { images, kept, unusable, failure };
  } catch (error) {
    // A reply that breaks in the middle of an image breaks its keeping first.
    const thrown = failure?.reason ?? (error instanceof SyntaxError ? noImages(error) : error);
    if (thrown instanceof UnreadableReply) reply.unreadable(thrown.message);
    throw thrown;
  } finally {
    await pieces.return(undefined);
  }
}

async function* bounded(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  for await (const chunk of body) {
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_REPLY_BYTES) throw tooLarge();
    yield chunk;
  }
}

const tooLarge = (): GatewayError => badReply('The upstream sent more than this gateway takes.');

/** The rest of the string that has begun. */
async function* stringParts(pieces: AsyncGenerator<JsonPiece>): AsyncGenerator<Buffer> {
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
    if (next.value.kind === 'string-end') return;
    if (next.value.kind === 'string-part') yield next.value.bytes;
  }
}

/** A string that names or holds an image: its URL, a data URL, or base64 itself. */
async function sourceIn(
  parts: AsyncGenerator<Buffer>,
  isNamedUrl: boolean,
): Promise<{ readonly url: string } | { readonly bytes: AsyncIterable<Buffer> }> {
  let first = Buffer.alloc(0);
  for (let next = await parts.next(); !next.done; next = await parts.next()) {
    first = Buffer.concat([first, next.value]);
    const head = first.toString('latin1', 0, MAX_URL_LENGTH);
    const source = sourceOf(head);
    // Of a data URL its head must be whole.
    if (source.kind === 'data') return { bytes: decodeBase64(after(first.subarray(source.from), parts)) };
    const isLong = first.length > MAX_URL_LENGTH;
    if (source.kind === 'base64' && (!isNamedUrl || isLong))
      return { bytes: decodeBase64(after(first, parts)) };
    if (isLong) throw badReply('The upstream sent a URL that is too long.');
  }
  const text = first.toString().trim();
  const isUrl = text !== '' && isImageUrl(text, isNamedUrl);
  return isUrl ? { url: text } : { bytes: decodeBase64(after(first, parts)) };
}

async function* after(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

function parseReply(
  json: string,
  list: ImageList | undefined,
  urls: ReadonlyMap<number, string>,
): ImagesReply {
  try {
    const { data, ...members } = replyOf(parseJson(json), list);
    return { ...members, data: data.map((entry, index) => ({ ...entry, url: urls.get(index) })) };
  } catch (error) {
    throw noImages(error);
  }
}

/** A body that is an image itself. */
async function receiveBody<Kept>(reply: Reply, keep: Keep<Kept>): Promise<ReceivedImages<Kept>> {
  const images: ImagesReply = { data: [{}] };
  const none = { images, kept: new Map<number, Kept>(), unusable: new Map<number, UnreadableReply>() };
  try {
    const image = await keep(0, bounded(reply.body));
    return { ...none, kept: new Map(image === undefined ? [] : [[0, image]]), failure: undefined };
  } catch (reason) {
    if (reason instanceof UnreadableReply) reply.unreadable(reason.message);
    return { ...none, failure: { reason } };
  }
}

const noImages = (cause: unknown): GatewayError =>
  badReply('The upstream answered with something that holds no images.', cause);
