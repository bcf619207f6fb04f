import type { ImageEditInput, Upload } from '@gateway/contracts/jobs';
import { lookUp } from '@gateway/contracts/look-up';
import type { UploadStore } from '@gateway/jobs/upload-store';
import type { Candidate, ResolvedModel } from '@gateway/upstream/catalog';
import { type MultipartPart, multipartBody } from '@gateway/upstream/multipart-body';
import type { Prepared } from './generation-request.ts';
import { prepareMembers } from './upstream-parts.ts';

interface EditOptions {
  readonly model: ResolvedModel;
  readonly candidate: Candidate;
  readonly input: Pick<ImageEditInput, 'fields' | 'images' | 'strict'>;
  readonly mask: Upload | null;
  readonly uploads: UploadStore;
}

/** An edit as one candidate is asked for it: a form whose files are read from disk as they are sent. */
export function editRequest({ model, candidate, input, mask, uploads }: EditOptions): Prepared {
  const { fields, images, strict } = input;
  const { members, dropped } = prepareMembers<string>({
    model,
    candidate,
    members: fields,
    strict,
    textOf: (text) => text,
    fromText: (text) => text,
  });
  const filePart = (name: string, file: Upload): MultipartPart => ({
    name,
    path: uploads.pathOf(file.uploadId),
    fileName: withFittingEnding(file),
    contentType: file.contentType,
    sizeBytes: file.sizeBytes,
  });
  const body = multipartBody([
    ...members.map(([name, value]) => ({ name, value })),
    ...images.map((file) => filePart(images.length === 1 ? 'image' : 'image[]', file)),
    ...(mask === null ? [] : [filePart('mask', mask)]),
  ]);
  return {
    dropped,
    request: {
      operation: 'images.edits',
      method: 'POST',
      headers: { 'content-type': body.contentType },
      body,
    },
  };
}

const ENDINGS: Readonly<Record<string, RegExp>> = {
  'image/png': /\.png$/i,
  'image/jpeg': /\.jpe?g$/i,
  'image/webp': /\.webp$/i,
};

/** Some providers go by the name's ending, and clients call files `blob`. */
function withFittingEnding({ fileName, contentType }: Upload): string {
  if (lookUp(ENDINGS, contentType)?.test(fileName)) return fileName;
  return `${fileName}.${contentType.slice('image/'.length)}`;
}
