import type { ImageEditInput, ImageGenerationInput, ImageOutput, ImageSource } from '@gateway/contracts/jobs';
import type { JobContent } from '@gateway/model-service/content-log/job-content';

/** What the content log has of images: what they were to be, and what they are. Their bytes lie in the asset store for a day. */
const answer = ({ created, images, members }: ImageOutput) => ({
  created,
  data: images.map(({ assetId, contentType, sizeBytes, members: own }) => ({
    asset_id: assetId,
    content_type: contentType,
    bytes: sizeBytes,
    ...own,
  })),
  ...members,
});

const sourceOf = (source: ImageSource) =>
  'fileId' in source
    ? { file_id: source.fileId }
    : { file_name: source.fileName, content_type: source.contentType, bytes: source.sizeBytes };

export const GENERATION_CONTENT: JobContent<ImageGenerationInput, ImageOutput> = {
  endpoint: 'images',
  request: ({ model, parameters, stream }) => ({ model, ...parameters, ...(stream && { stream }) }),
  answer,
};

export const EDIT_CONTENT: JobContent<ImageEditInput, ImageOutput> = {
  endpoint: 'images',
  request: ({ model, fields, images, mask, markup, stream }) => ({
    model,
    ...Object.fromEntries(fields),
    ...(stream && { stream }),
    image: images.map(sourceOf),
    ...(mask && { mask: sourceOf(mask) }),
    ...(markup && { markup: sourceOf(markup) }),
  }),
  answer,
};
