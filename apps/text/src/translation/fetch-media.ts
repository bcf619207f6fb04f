import { GatewayError } from '@gateway/contracts/gateway-error';
import { fetchNamed } from '@gateway/upstream/fetching/fetch-named';
import type { FetchedBody } from '@gateway/upstream/fetching/fetch-url';
import type { TextCall } from '../call/request/text-call.ts';
import type { FetchedMedia, WantedMedia } from '../neutral/encoding/named-media.ts';
import { formatPath } from '../wire/path.ts';

const MEBIBYTE = 1024 * 1024;

/** What one image or document may have: about what Converse takes, and little beside a request's own body. */
const MAX_BYTES = 5 * MEBIBYTE;
const MAX_BYTES_TOGETHER = 16 * MEBIBYTE;
const MAX_FETCHED = 25;

/**
 * Fetches what a request names by URL, each URL once, for an upstream that takes bytes only.
 *
 * @throws {GatewayError} as `fetchNamed`, for the first that cannot be had
 */
export async function fetchMedia(
  { services, context }: Pick<TextCall, 'services' | 'context'>,
  wanted: readonly WantedMedia[],
): Promise<ReadonlyMap<string, FetchedMedia>> {
  const byUrl = new Map(wanted.map((one) => [one.url, one]));
  const last = wanted.at(-1);
  if (byUrl.size > MAX_FETCHED) throw tooMuch(last, `it names ${byUrl.size}, and at most ${MAX_FETCHED} are`);
  const { fetching } = services;
  const timeLimit = AbortSignal.timeout(fetching.timeoutMs);
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  let sizeBytes = 0;
  const fetchOne = async ({ what, url, at }: WantedMedia): Promise<[string, FetchedMedia]> => {
    const named = { what, url, path: at, shownPath: formatPath(at), maxBytes: MAX_BYTES };
    return fetchNamed(named, { fetching, signal, timeLimit }, async ({ contentType, chunks }) => {
      const read: Buffer[] = [];
      for await (const chunk of chunks) {
        sizeBytes += chunk.length;
        if (sizeBytes > MAX_BYTES_TOGETHER)
          throw tooMuch({ at }, `together at most ${MAX_BYTES_TOGETHER} bytes are`);
        read.push(chunk);
      }
      const bytes = Buffer.concat(read);
      context.load?.add(bytes.length);
      return [url, { mediaType: typeOf(bytes, contentType), data: bytes.toString('base64') }];
    });
  };
  try {
    return new Map(await Promise.all([...byUrl.values()].map(fetchOne)));
  } finally {
    failed.abort();
  }
}

const tooMuch = (where: Pick<WantedMedia, 'at'> | undefined, why: string): GatewayError =>
  new GatewayError('file_too_large', {
    path: [...(where?.at ?? [])],
    message: `The request names too many images and documents by URL: ${why} fetched for it. Send fewer, or smaller ones.`,
  });

const SIGNATURES: readonly (readonly [mediaType: string, begins: RegExp])[] = [
  ['image/png', /^\x89PNG/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
  ['application/pdf', /^%PDF-/],
];

/** By its bytes, since stores of files often give none or a general type; else by what its server says. */
function typeOf(bytes: Buffer, contentType: FetchedBody['contentType']): string {
  const head = bytes.toString('latin1', 0, 16);
  const found = SIGNATURES.find(([, begins]) => begins.test(head))?.[0];
  return found ?? contentType?.split(';')[0]?.trim().toLowerCase() ?? 'application/octet-stream';
}
