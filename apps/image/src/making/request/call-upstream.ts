import { buffer } from 'node:stream/consumers';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { parseJson } from '@gateway/contracts/json/json-depth';
import { ImagesReply } from '@gateway/contracts/openai/images';
import type { Candidate } from '@gateway/upstream/candidate';
import { checkFirstOutput, type OutputCheck } from '@gateway/upstream/first-output/check-first-output';
import { type Attempt, type Reply, readCounted, UnreadableReply } from '@gateway/upstream/replies/reply';
import type { Upstream } from '@gateway/upstream/upstream';
import { sourceOf } from '../../files/image-source.ts';
import type { Prepared } from './generation-request.ts';

/** Ten images of the largest size, in base64. */
export const MAX_REPLY_BYTES = 400 * 1024 * 1024;

export type Prepare = (candidate: Candidate) => Prepared | GatewayError | Promise<Prepared | GatewayError>;

interface AskOptions {
  readonly upstream: Upstream;
  readonly candidates: readonly Candidate[];
  /** An error is the reason why this candidate cannot be called. */
  readonly prepare: Prepare;
  readonly streamed: boolean;
  readonly signal: AbortSignal;
  readonly onAttempt: (attempt: Attempt) => void;
}

/** Calls the candidates for images, until one begins to answer. Paid work: none is called after one may have begun. */
export async function requestImages({
  upstream,
  candidates,
  prepare,
  streamed,
  signal,
  onAttempt,
}: AskOptions): Promise<{ reply: Reply; dropped: readonly string[] }> {
  let dropped: readonly string[] = [];
  const reply = await upstream.send({
    candidates,
    request: async (candidate) => {
      const prepared = await prepare(candidate);
      if (prepared instanceof GatewayError) return prepared;
      dropped = prepared.dropped;
      return prepared.request;
    },
    dialect: 'openai',
    work: 'paid',
    streamed,
    signal,
    checkOutput: checkImages,
    onAttempt,
  });
  return { reply, dropped: [...new Set([...dropped, ...reply.dropped])] };
}

/** A 200 with broken JSON was paid for: no other provider may be called. */
const checkImages: OutputCheck = (first) => {
  const verdict = checkFirstOutput(first);
  const isJson = first.headers['content-type']?.startsWith('application/json') ?? false;
  return typeof verdict === 'object' && 'broken' in verdict && isJson ? 'accept' : verdict;
};

/** @throws {GatewayError} `upstream_failed`, not to be repeated, for what is no reply with images */
export async function readImagesReply(reply: Reply): Promise<ImagesReply> {
  const bytes = await reply.bytes(MAX_REPLY_BYTES);
  return readCounted(reply, async () => {
    try {
      return ImagesReply.parse(parseJson(bytes.toString()));
    } catch (error) {
      throw badReply('The upstream answered with something that holds no images.', error);
    }
  });
}

/** An upstream that does not stream answers with all images at once. A URL cannot be streamed, so what it leads to is. */
export async function readStreamable(
  reply: Reply,
  upstream: Pick<Upstream, 'fetchAsset'>,
): Promise<ImagesReply> {
  const { data, ...whole } = await readImagesReply(reply);
  const images: ImagesReply['data'] = [];
  for (const { b64_json, url, ...entry } of data) {
    const text = b64_json || url || '';
    const { kind, from } = sourceOf(text.slice(0, MAX_HEAD_CHARACTERS));
    const isLink = kind === 'url' || (!b64_json && kind === 'base64');
    if (text === '') continue;
    images.push({ ...entry, b64_json: isLink ? await fetchBase64(reply, upstream, text) : text.slice(from) });
  }
  if (images.length > 0) return { ...whole, data: images };
  const failure = badReply('The upstream answered with something that holds no images.');
  reply.unreadable(failure.message);
  throw failure;
}

/** A data URL's head is shorter. */
const MAX_HEAD_CHARACTERS = 256;
const MAX_IMAGE_BYTES = 100 * 1024 * 1024;

const fetchBase64 = (
  { candidate: { channel, account } }: Reply,
  upstream: Pick<Upstream, 'fetchAsset'>,
  url: string,
): Promise<string> =>
  upstream.fetchAsset({ url, channel, account, maxBytes: MAX_IMAGE_BYTES }, async ({ chunks }) =>
    (await buffer(chunks)).toString('base64'),
  );

/** The images were probably made and billed, but cannot be had. */
export const badReply = (message: string, cause?: unknown): UnreadableReply =>
  new UnreadableReply(message, { retry: false, cause });
