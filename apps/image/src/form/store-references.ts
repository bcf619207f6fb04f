import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { toStorageError } from '@gateway/assets/storage-error';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageEditJsonRequest, ImageReference } from '@gateway/contracts/openai/images';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { openaiPath } from '@gateway/service-kit/error-response';
import {
  fetchNamed,
  type Named as NamedByUrl,
  type NamedFetching,
  namedTooLarge,
} from '@gateway/upstream/fetching/fetch-named';
import { IMAGE_MAX_BYTES, MASK_MAX_BYTES } from './edit-form.ts';
import type { EditFile } from './inspect-files.ts';

interface StoreOptions {
  readonly uploads: UploadStore;
  readonly fetching: NamedFetching;
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

async function storeDataUrl(url: string, target: string, named: Named): Promise<number> {
  const { path, maxBytes } = named;
  const head = DATA_URL.exec(url)?.[0];
  if (head === undefined)
    throw refuse(
      path,
      `The data URL in '${openaiPath(path)}' is not in base64. Send 'data:image/png;base64,…'.`,
    );
  const bytes = Buffer.from(url.slice(head.length), 'base64');
  if (bytes.length > maxBytes) throw namedTooLarge(asNamed(named));
  return write([bytes], target);
}

const storeFetched = (
  url: string,
  target: string,
  named: Named,
  timeLimit: AbortSignal,
  { fetching, signal }: StoreOptions,
): Promise<number> =>
  fetchNamed({ ...asNamed(named), url }, { fetching, signal, timeLimit }, ({ chunks }) =>
    write(chunks, target),
  );

const asNamed = ({ path, maxBytes }: Named): Omit<NamedByUrl, 'url'> => ({
  what: 'image',
  path,
  shownPath: openaiPath(path),
  maxBytes,
});

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

const refuse = (path: Named['path'], message: string): GatewayError =>
  new GatewayError('invalid_value', { path: [...path], message });
