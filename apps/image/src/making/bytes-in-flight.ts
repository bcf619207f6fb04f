import type { ImageEditInput, ImageGenerationInput } from '@gateway/contracts/jobs';
import type { Upstream } from '@gateway/upstream/upstream';
import { orderOfJob } from '../metering/image-order.ts';

/** Of an image in base64: what its provider's library has read, the reply made of that as text, and its bytes. */
const LIBRARY_IMAGE_BYTES = 3 * 12 * 1024 * 1024;

/**
 * What a job may hold in memory at a channel that is called through its provider's library, which has whole images only. Undefined
 * where there is none: images are then stored while they come.
 */
export function bytesThroughLibrary(
  upstream: Pick<Upstream, 'resolveModel' | 'candidates'>,
  input: ImageGenerationInput | ImageEditInput,
): number | undefined {
  const model = upstream.resolveModel(input.model);
  const candidates = model === null ? [] : upstream.candidates({ model, protocol: 'images' });
  if (candidates.every(({ channel }) => channel.library === null)) return undefined;
  const sources = 'parameters' in input ? [] : [...input.images, ...(input.mask ? [input.mask] : [])];
  const given = sources.reduce((sum, source) => sum + ('sizeBytes' in source ? source.sizeBytes : 0), 0);
  return given + LIBRARY_IMAGE_BYTES * (orderOfJob(input).n ?? 1);
}
