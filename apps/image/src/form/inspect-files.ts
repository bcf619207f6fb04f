import { open } from 'node:fs/promises';
import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageSource, Upload } from '@gateway/contracts/jobs';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { openaiPath } from '@gateway/service-kit/error-response';
import { listed } from '@gateway/service-kit/request/validate';
import { type ImageHeader, imageTypeOf, readImageHeader } from '../files/image-header.ts';
import { MAX_MASK_PIXELS, MAX_MASK_SIDE } from '../files/invert-png.ts';

/** What may be edited. */
const EDITABLE: readonly string[] = ['image/jpeg', 'image/png', 'image/webp'];
const FIRST_BYTES = 1024;

/** An image, a mask or a markup of a request: a file in the uploads area, or one that the provider has. */
export interface EditFile {
  readonly part: 'image' | 'mask' | 'markup';
  /** Where the request has it. */
  readonly path: readonly (string | number)[];
  readonly source: Omit<Upload, 'contentType'> | Exclude<ImageSource, Upload>;
}

type StoredFile = EditFile & { readonly source: Omit<Upload, 'contentType'> };

export interface EditImages {
  readonly images: readonly ImageSource[];
  readonly mask: ImageSource | null;
  readonly markup: ImageSource | null;
}

interface Inspected {
  readonly upload: Upload;
  readonly header: ImageHeader;
}

/**
 * Knows images by their bytes, and holds the mask and the markup to their rules: PNG, with alpha, as large as the first
 * image. Files that the provider has are the provider's to check.
 *
 * @throws {GatewayError} `missing_required_parameter`, `array_above_max_length`, `unsupported_file_mimetype`,
 *   `invalid_image_file`, `invalid_mask_image_format`, `invalid_image_format`
 */
export async function inspectFiles(
  files: readonly EditFile[],
  { uploads, maxImages }: { uploads: UploadStore; maxImages: number },
): Promise<EditImages> {
  const images = files.filter(({ part }) => part === 'image');
  if (images.length === 0)
    throw refuse('missing_required_parameter', ['image'], "Missing required parameter: 'image'.");
  if (images.length > maxImages) throw tooManyImages(images, maxImages);
  const sources: ImageSource[] = [];
  let first: ImageHeader | undefined;
  for (const [index, file] of images.entries()) {
    const inspected = isStored(file) ? await inspect(file, uploads) : undefined;
    if (index === 0) first = inspected?.header;
    sources.push(inspected?.upload ?? providerFile(file));
  }
  const overlay = async (part: keyof typeof OVERLAYS): Promise<ImageSource | null> => {
    const file = files.find((one) => one.part === part);
    if (file === undefined) return null;
    return isStored(file) ? await inspectOverlay(file, OVERLAYS[part], uploads, first) : providerFile(file);
  };
  return { images: sources, mask: await overlay('mask'), markup: await overlay('markup') };
}

const isStored = (file: EditFile): file is StoredFile => 'uploadId' in file.source;

function providerFile({ source }: EditFile): Exclude<ImageSource, Upload> {
  if ('fileId' in source) return source;
  throw new Error('a stored file is no file of the provider');
}

async function inspect({ part, path, source }: StoredFile, uploads: UploadStore): Promise<Inspected> {
  await using handle = await open(uploads.pathOf(source.uploadId));
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0);
  const name = openaiPath(path);
  if (bytesRead === 0) throw refuse('invalid_image_file', path, `The file in '${name}' is empty.`);
  const contentType = imageTypeOf(buffer.subarray(0, bytesRead));
  if (part !== 'image' && contentType !== 'image/png')
    throw refuse(OVERLAYS[part].code, path, `The ${part} must be a PNG file with an alpha channel.`);
  if (contentType === undefined || !EDITABLE.includes(contentType)) throw wrongType(path, contentType);
  const header = await readImageHeader(handle, contentType);
  if (header === undefined)
    throw refuse(
      'invalid_image_file',
      path,
      `The file in '${name}' is broken: its size in pixels cannot be read.`,
    );
  return { upload: { ...source, contentType }, header };
}

interface Overlay {
  /** For what is no PNG with alpha. */
  readonly code: ErrorCode;
  readonly alphaMeans: string;
  /** The first image's size is meant as the image is shown: a photograph may say that it is to be turned. */
  readonly mayBeTurned: boolean;
  /** It is decoded where its alpha has to be inverted. */
  readonly maxPixels: number;
  readonly maxSide: number;
}

/** What lies over the first image. */
const OVERLAYS: Readonly<Record<Exclude<EditFile['part'], 'image'>, Overlay>> = {
  mask: {
    code: 'invalid_mask_image_format',
    alphaMeans: 'Its fully transparent pixels mark where to edit.',
    mayBeTurned: false,
    maxPixels: MAX_MASK_PIXELS,
    maxSide: MAX_MASK_SIDE,
  },
  markup: {
    code: 'invalid_image_format',
    alphaMeans: 'The first image is seen through its transparent pixels.',
    mayBeTurned: true,
    maxPixels: Number.POSITIVE_INFINITY,
    maxSide: Number.POSITIVE_INFINITY,
  },
};

/** The first image's size cannot be compared where the provider has it. */
async function inspectOverlay(
  file: StoredFile,
  { code, alphaMeans, mayBeTurned, maxPixels, maxSide }: Overlay,
  uploads: UploadStore,
  image: ImageHeader | undefined,
): Promise<Upload> {
  const { upload, header } = await inspect(file, uploads);
  const { part, path } = file;
  const { width, height } = header;
  if (!header.hasAlpha) throw refuse(code, path, `The ${part} has no alpha channel. ${alphaMeans}`);
  const isAsLarge =
    image === undefined ||
    (width === image.width && height === image.height) ||
    (mayBeTurned && width === image.height && height === image.width);
  if (!isAsLarge)
    throw refuse(
      'invalid_image_format',
      path,
      `The ${part} must have the size of the first image, ${image.width}x${image.height}, but has ${width}x${height}.`,
    );
  if (width * height > maxPixels || Math.max(width, height) > maxSide)
    throw refuse(
      'invalid_image_format',
      path,
      `The ${part} is too large. It may have ${maxPixels} pixels, and ${maxSide} on a side.`,
    );
  return upload;
}

const refuse = (code: ErrorCode, path: EditFile['path'], message: string): GatewayError =>
  new GatewayError(code, { path: [...path], message });

/** The list's first step of its images' paths. */
function tooManyImages(images: readonly EditFile[], max: number): GatewayError {
  const path = (images[0]?.path ?? ['image']).slice(0, 1);
  return refuse(
    'array_above_max_length',
    path,
    `Invalid '${openaiPath(path)}': array too long. Expected an array with maximum length ${max}, but got an array with length ${images.length} instead.`,
  );
}

function wrongType(path: EditFile['path'], contentType = 'application/octet-stream'): GatewayError {
  const supported = listed(
    EDITABLE.map((type) => `'${type}'`),
    'and',
    ',',
  );
  return refuse(
    'unsupported_file_mimetype',
    path,
    `Unsupported mimetype ('${contentType}'). Supported file formats are ${supported}.`,
  );
}
