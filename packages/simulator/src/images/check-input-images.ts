import { invalidRequest, ProviderError } from '../replies/provider-error.ts';
import { type ImageHeader, readImageHeader } from './image-header.ts';

const MEGABYTE = 1024 * 1024;
const MAX_IMAGES = 16;
const EDITABLE_TYPES = ['image/jpeg', 'image/png', 'image/webp'];

const readImage = (bytes: Buffer, param: string): ImageHeader => {
  const header = readImageHeader(bytes);
  if (!header) {
    throw invalidRequest(
      'Invalid image file or mode for image 1, please check your image file.',
      'invalid_image_file',
      param,
    );
  }
  if (!EDITABLE_TYPES.includes(header.type)) {
    throw invalidRequest(
      `Unsupported mimetype ('${header.type}'). Supported file formats are 'image/jpeg', 'image/png', and 'image/webp'.`,
      'unsupported_file_mimetype',
      param,
    );
  }
  return header;
};

const checkSizeBytes = (bytes: Buffer, maxMegabytes: number, param: string): void => {
  if (bytes.length < maxMegabytes * MEGABYTE) return;
  throw new ProviderError({
    status: 413,
    message: `Image is too large. Expected less than ${maxMegabytes} MB.`,
    code: 'file_too_large',
    param,
  });
};

const checkMask = (mask: Buffer, image: ImageHeader | undefined): void => {
  checkSizeBytes(mask, 4, 'mask');
  const header = readImage(mask, 'mask');
  if (header.type !== 'image/png' || !header.hasAlpha) {
    throw invalidRequest(
      'Invalid mask image format - mask image missing alpha channel',
      'invalid_mask_image_format',
      'mask',
    );
  }
  if (image && (header.width !== image.width || header.height !== image.height)) {
    throw invalidRequest(
      'Invalid image format - mask size does not match image size',
      'invalid_image_format',
      'mask',
    );
  }
};

/**
 * Checks the files of an edit by their contents.
 * @throws ProviderError 400, or 413 for a file that is too large
 */
export const checkInputImages = (model: string, images: readonly Buffer[], mask: Buffer | null): void => {
  const isDallE2 = model.startsWith('dall-e-2');
  const maxImages = isDallE2 ? 1 : MAX_IMAGES;
  if (images.length > maxImages) {
    throw invalidRequest(
      `Invalid 'image': array too long. Expected an array with maximum length ${maxImages}, but got an array with length ${images.length} instead.`,
      'array_above_max_length',
      'image',
    );
  }
  const headers = images.map((bytes) => {
    checkSizeBytes(bytes, isDallE2 ? 4 : 50, 'image');
    return readImage(bytes, 'image');
  });
  const [first] = headers;
  if (isDallE2 && first && (first.type !== 'image/png' || first.width !== first.height)) {
    throw invalidRequest('Invalid image: the image must be a square PNG.', 'invalid_image_format', 'image');
  }
  if (mask) checkMask(mask, first);
};
