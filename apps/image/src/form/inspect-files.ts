import { open } from 'node:fs/promises';
import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Upload } from '@gateway/contracts/jobs';
import type { ReceivedFile } from '@gateway/forms/read-form';
import type { UploadStore } from '@gateway/jobs/upload-store';
import { listed } from '@gateway/service-kit/validate';
import { type ImageHeader, readImageHeader } from '../files/image-header.ts';
import { imageTypeOf } from '../files/image-type.ts';

/** What may be edited. */
const EDITABLE: readonly string[] = ['image/jpeg', 'image/png', 'image/webp'];
const FIRST_BYTES = 1024;
/** A mask may have to be decoded, to invert it; this bounds the memory that takes. */
const MAX_MASK_PIXELS = 40_000_000;

export interface EditImages {
  readonly images: readonly Upload[];
  readonly mask: Upload | null;
}

interface Inspected {
  readonly upload: Upload;
  readonly header: ImageHeader;
}

/**
 * Knows images by their bytes, and holds the mask to its rules: PNG, with alpha, as large as the first image.
 *
 * @throws {GatewayError} `missing_required_parameter`, `array_above_max_length`, `unsupported_file_mimetype`,
 *   `invalid_image_file`, `invalid_mask_image_format`, `invalid_image_format`
 */
export async function inspectFiles(
  files: readonly ReceivedFile[],
  { uploads, maxImages }: { uploads: UploadStore; maxImages: number },
): Promise<EditImages> {
  const images = files.filter(({ part }) => part === 'image');
  const mask = files.find(({ part }) => part === 'mask');
  if (images.length === 0)
    throw refuse('missing_required_parameter', 'image', "Missing required parameter: 'image'.");
  if (images.length > maxImages)
    throw refuse(
      'array_above_max_length',
      'image',
      `Invalid 'image': array too long. Expected an array with maximum length ${maxImages}, but got an array with length ${images.length} instead.`,
    );
  const inspected: Inspected[] = [];
  for (const file of images) inspected.push(await inspect(file, uploads));
  const checkedMask = mask && (await inspectMask(mask, uploads, inspected[0]?.header));
  return { images: inspected.map(({ upload }) => upload), mask: checkedMask ?? null };
}

async function inspect(file: ReceivedFile, uploads: UploadStore): Promise<Inspected> {
  const { part, uploadId, fileName, sizeBytes } = file;
  await using handle = await open(uploads.pathOf(uploadId));
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0);
  if (bytesRead === 0) throw refuse('invalid_image_file', part, `The file in '${part}' is empty.`);
  const contentType = imageTypeOf(buffer.subarray(0, bytesRead));
  if (part === 'mask' && contentType !== 'image/png')
    throw refuse('invalid_mask_image_format', 'mask', 'The mask must be a PNG file with an alpha channel.');
  if (contentType === undefined || !EDITABLE.includes(contentType)) throw wrongType(contentType);
  const header = await readImageHeader(handle, contentType);
  if (header === undefined)
    throw refuse(
      'invalid_image_file',
      part,
      `The file in '${part}' is broken: its size in pixels cannot be read.`,
    );
  return { upload: { uploadId, fileName, contentType, sizeBytes }, header };
}

async function inspectMask(
  file: ReceivedFile,
  uploads: UploadStore,
  image: ImageHeader | undefined,
): Promise<Upload> {
  const { upload, header } = await inspect(file, uploads);
  if (!header.hasAlpha)
    throw refuse(
      'invalid_mask_image_format',
      'mask',
      'The mask has no alpha channel. Its fully transparent pixels mark where to edit.',
    );
  if (header.width !== image?.width || header.height !== image.height)
    throw refuse(
      'invalid_image_format',
      'mask',
      `The mask must have the size of the first image, ${image?.width}x${image?.height}, but has ${header.width}x${header.height}.`,
    );
  if (header.width * header.height > MAX_MASK_PIXELS)
    throw refuse('invalid_image_format', 'mask', `The mask has more than ${MAX_MASK_PIXELS} pixels.`);
  return upload;
}

const refuse = (code: ErrorCode, part: string, message: string): GatewayError =>
  new GatewayError(code, { path: [part], message });

function wrongType(contentType = 'application/octet-stream'): GatewayError {
  const supported = listed(
    EDITABLE.map((type) => `'${type}'`),
    'and',
    ',',
  );
  return refuse(
    'unsupported_file_mimetype',
    'image',
    `Unsupported mimetype ('${contentType}'). Supported file formats are ${supported}.`,
  );
}
