import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageSource, Upload } from '@gateway/contracts/jobs';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { invertAlpha } from '../../files/invert-alpha.ts';

/** A request's mask, as each route takes it. */
export interface Masks {
  /**
   * Untouched, or with its alpha inverted where the route means the opposite by transparency. An error says that this
   * candidate cannot have it.
   */
  for(candidate: Candidate): Promise<ImageSource | null | GatewayError>;
  /** Deletes what was made. */
  [Symbol.asyncDispose](): Promise<void>;
}

export function openMasks(mask: ImageSource | null, model: ResolvedModel, uploads: UploadStore): Masks {
  let inverted: Upload | undefined;
  const invert = async (original: Upload): Promise<Upload> => {
    const uploadId = uploads.newId();
    const made = await invertAlpha(uploads.pathOf(original.uploadId), uploads.pathOf(uploadId));
    return { ...original, uploadId, sizeBytes: made.sizeBytes };
  };
  return {
    for: async ({ route }) => {
      if (mask === null || (route.maskTransparent ?? model.maskTransparent) === model.maskTransparent)
        return mask;
      if ('fileId' in mask) return cannotInvert();
      inverted ??= await invert(mask);
      return inverted;
    },
    [Symbol.asyncDispose]: async () => {
      if (inverted !== undefined) await uploads.delete(inverted.uploadId);
    },
  };
}

const cannotInvert = (): GatewayError =>
  new GatewayError('unsupported_parameter', {
    path: ['mask', 'file_id'],
    message:
      "Unsupported parameter: 'mask.file_id'. This model's provider takes the opposite meaning of transparency, so the mask must be changed on the way: send it as 'image_url', or as a file in a form.",
  });
