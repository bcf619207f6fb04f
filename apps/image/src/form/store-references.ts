import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { toStorageError } from '@gateway/assets/storage-error';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageEditJsonRequest, ImageReference } from '@gateway/contracts/openai/images';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { openaiPath } from '@gateway/service-kit/error-response';
import type { Network } from '@gateway/upstream/connecting/network';
import { FetchUrlError, fetchUrl } from '@gateway/upstream/fetching/fetch-url';
import { IMAGE_MAX_BYTES, MASK_MAX_BYTES } from './edit-form.ts';
import type { EditFile } from './inspect-files.ts';

/** How images are fetched that callers name by URL. */
export interface ReferenceFetching {
  /** Origins with private addresses that may be connected to all the same. */
  readonly privateOrigins: readonly string[];
  /** For all images of one request together. */
  readonly timeoutMs: number;
  /** The way to addresses that are not private, by the current configuration. */
  readonly network: () => Network;
}

interface StoreOptions {
  readonly uploads: UploadStore;
  readonly fetching: ReferenceFetching;
  /** The caller's. */
  readonly signal: AbortSignal;
  /** Gets the ids of what is stored, also where a later image cannot be. */
  readonly stored: string[];
}

interface Named {
  readonly part: EditFile['part'];
  readonly path: readonly (string | number)[];
  readonly reference: ImageReference;
  readonly maxBytes: number;
}

const CONNECT_MS = 5000;

/**
 * Writes the images that JSON names into the uploads area: data URLs from the request itself, others fetched one after
 * the other. Files of the provider stay there.
 *
 * @throws {GatewayError} `invalid_value` for a URL that brings nothing, `file_too_large`,
 *   `storage_full`, `client_closed_request`
 */
export async function storeReferences(
  { images, mask, markup }: Pick<ImageEditJsonRequest, 'images' | 'mask' | 'markup'>,
  options: StoreOptions,
): Promise<readonly EditFile[]> {
  const named = images.map(
    (reference, index): Named => ({
      part: 'image',
      path: ['images', index],
      reference,
      maxBytes: IMAGE_MAX_BYTES,
    }),
  );
  if (mask) named.push({ part: 'mask', path: ['mask'], reference: mask, maxBytes: MASK_MAX_BYTES });
  if (markup) named.push({ part: 'markup', path: ['markup'], reference: markup, maxBytes: IMAGE_MAX_BYTES });
  const timeLimit = AbortSignal.timeout(options.fetching.timeoutMs);
  const files: EditFile[] = [];
  for (const one of named) files.push(await fileOf(one, timeLimit, options));
  return files;
}

async function fileOf(named: Named, timeLimit: AbortSignal, options: StoreOptions): Promise<EditFile> {
  const { part, reference } = named;
  if (reference.file_id)
    return { part, path: [...named.path, 'file_id'], source: { fileId: reference.file_id } };
  const path = [...named.path, 'image_url'];
  const url = reference.image_url ?? '';
  const { uploads, stored } = options;
  const uploadId = uploads.newId();
  stored.push(uploadId);
  const target = uploads.pathOf(uploadId);
  const sizeBytes = url.startsWith('data:')
    ? await storeDataUrl(url, target, { ...named, path })
    : await storeFetched(url, target, { ...named, path }, timeLimit, options);
  return { part, path, source: { uploadId, fileName: part, sizeBytes } };
}

const DATA_URL = /^data:[^,]{0,200};base64,/i;

async function storeDataUrl(url: string, target: string, { path, maxBytes }: Named): Promise<number> {
  const head = DATA_URL.exec(url)?.[0];
  if (head === undefined)
    throw refuse(
      path,
      `The data URL in '${openaiPath(path)}' is not in base64. Send 'data:image/png;base64,…'.`,
    );
  const bytes = Buffer.from(url.slice(head.length), 'base64');
  if (bytes.length > maxBytes) throw tooLarge(path, maxBytes);
  return write([bytes], target);
}

async function storeFetched(
  url: string,
  target: string,
  { path, maxBytes }: Named,
  timeLimit: AbortSignal,
  { fetching, signal }: StoreOptions,
): Promise<number> {
  try {
    return await fetchUrl(
      {
        url,
        trustedOrigins: fetching.privateOrigins,
        network: fetching.network(),
        maxBytes,
        connectMs: CONNECT_MS,
        signal: AbortSignal.any([signal, timeLimit]),
      },
      ({ chunks }) => write(chunks, target),
    );
  } catch (error) {
    if (signal.aborted) throw new GatewayError('client_closed_request', 'The caller closed the request.');
    if (!(error instanceof FetchUrlError)) throw error;
    if (error.fault === 'too-large') throw tooLarge(path, maxBytes);
    const reason = timeLimit.aborted ? 'fetching took too long' : reasonOf(error);
    throw refuse(path, `The image at '${openaiPath(path)}' could not be fetched: ${reason}.`, error);
  }
}

/** What a caller may know: nothing about addresses inside of the operator's network. */
const reasonOf = ({ fault, message }: FetchUrlError): string => {
  if (fault === 'private') return 'its address is not public';
  return fault === 'connection' ? 'its server cannot be reached' : message;
};

async function write(source: Iterable<Buffer> | AsyncIterable<Buffer>, target: string): Promise<number> {
  let sizeBytes = 0;
  async function* counted() {
    for await (const chunk of source) {
      sizeBytes += chunk.length;
      yield chunk;
    }
  }
  await pipeline(
    Readable.from(counted(), { objectMode: false }),
    createWriteStream(target, { flags: 'wx' }),
  ).catch((error: unknown) => {
    throw toStorageError(error);
  });
  return sizeBytes;
}

const refuse = (path: Named['path'], message: string, cause?: unknown): GatewayError =>
  new GatewayError('invalid_value', { path: [...path], message, cause });

const tooLarge = (path: Named['path'], maxBytes: number): GatewayError =>
  new GatewayError('file_too_large', {
    path: [...path],
    message: `The image in '${openaiPath(path)}' is too large. It may have at most ${maxBytes} bytes.`,
  });
