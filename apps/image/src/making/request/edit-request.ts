import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ImageEditInput, ImageSource, Upload } from '@gateway/contracts/jobs';
import { lookUp } from '@gateway/contracts/look-up';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { Provider } from '@gateway/upstream/configuration/presets/presets';
import { type MultipartPart, multipartBody } from '@gateway/upstream/requests/multipart-body';
import type { Prepared } from './generation-request.ts';
import { jsonEditBody } from './json-edit-body.ts';
import { prepareMembers } from './upstream-parts.ts';

interface EditOptions {
  readonly model: ResolvedModel;
  readonly candidate: Candidate;
  readonly input: Pick<ImageEditInput, 'fields' | 'images' | 'markup' | 'strict'>;
  readonly mask: ImageSource | null | GatewayError;
  readonly uploads: UploadStore;
}

/** Providers that know files by ids of their own. */
const WITH_FILES: ReadonlySet<Provider> = new Set(['openai', 'azure-openai', 'simulator']);

/**
 * An edit as one candidate gets it: a form whose files are read from disk as they are sent, or JSON where the
 * provider itself has an image. An error is the reason why this candidate cannot do it.
 */
export function editRequest(options: EditOptions): Prepared | GatewayError {
  const { model, candidate, input, mask, uploads } = options;
  if (mask instanceof GatewayError) return mask;
  const { fields, images, strict } = input;
  const prepared = prepareMembers<string>({
    model,
    candidate,
    // A file counts by its name, as far as members may be left out.
    members: input.markup ? [...fields, ['markup', '']] : fields,
    strict,
    textOf: (text) => text,
    fromText: (text) => text,
  });
  const { dropped } = prepared;
  const members = prepared.members.filter(([name]) => name !== 'markup' || !input.markup);
  const markup = members.length < prepared.members.length ? (input.markup ?? null) : null;
  const request = { operation: 'images.edits', method: 'POST', strict } as const;
  const uploaded = images.filter(isUpload);
  const overlays = [
    ['mask', mask],
    ['markup', markup],
  ] as const;
  const given = overlays.flatMap(([name, file]) => (file === null ? [] : [[name, file] as const]));
  if (uploaded.length < images.length || given.some(([, file]) => !isUpload(file))) {
    if (!WITH_FILES.has(candidate.channel.provider)) return hasNoFiles();
    const body = jsonEditBody({ members, images, overlays: given, uploads });
    return { dropped, request: { ...request, headers: { 'content-type': 'application/json' }, body } };
  }
  const filePart = (name: string, file: Upload): MultipartPart => ({
    name,
    path: uploads.pathOf(file.uploadId),
    fileName: withFittingEnding(file),
    contentType: file.contentType,
    sizeBytes: file.sizeBytes,
  });
  const body = multipartBody([
    ...members.map(([name, value]) => ({ name, value })),
    ...uploaded.map((file) => filePart(uploaded.length === 1 ? 'image' : 'image[]', file)),
    ...given.flatMap(([name, file]) => (isUpload(file) ? filePart(name, file) : [])),
  ]);
  return { dropped, request: { ...request, headers: { 'content-type': body.contentType }, body } };
}

const isUpload = (source: ImageSource): source is Upload => 'uploadId' in source;

const hasNoFiles = (): GatewayError =>
  new GatewayError('unsupported_parameter', {
    path: ['images', 0, 'file_id'],
    message:
      "Unsupported parameter: 'file_id' is not available with the upstream of this model. Send the image as 'image_url', or as a file in a form.",
  });

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
