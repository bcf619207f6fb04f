import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { ImageSource } from '@gateway/contracts/jobs';
import { parseJson } from '@gateway/contracts/json/json-depth';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { StreamedBody } from '@gateway/upstream/requests/upstream-request';
import { base64Length, base64Pieces } from '../../files/base64.ts';
import { formValues } from '../../form/edit-form.ts';

interface JsonEdit {
  readonly members: readonly (readonly [name: string, text: string])[];
  readonly images: readonly ImageSource[];
  /** What lies over the first image, by its member. */
  readonly overlays: readonly (readonly [member: 'mask' | 'markup', source: ImageSource])[];
  readonly uploads: Pick<UploadStore, 'pathOf'>;
}

/** A piece of the body: text, or a file that becomes base64 in it. */
type Piece = string | { readonly path: string; readonly sizeBytes: number };

/** An edit in JSON, for images that only the provider has. Files of ours are read from disk as they are sent. */
export function jsonEditBody({ members, images, overlays, uploads }: JsonEdit): StreamedBody {
  const pieces: Piece[] = [`${JSON.stringify(membersOf(members)).slice(0, -1)},"images":[`];
  for (const [index, image] of images.entries()) {
    if (index > 0) pieces.push(',');
    pieces.push(...reference(image, uploads));
  }
  pieces.push(']');
  for (const [member, source] of overlays) pieces.push(`,"${member}":`, ...reference(source, uploads));
  pieces.push('}');
  async function* texts(): AsyncGenerator<string> {
    for (const piece of pieces) {
      if (typeof piece === 'string') yield piece;
      else yield* base64Pieces(createReadStream(piece.path));
    }
  }
  return {
    sizeBytes: pieces.reduce((sum, piece) => sum + lengthOf(piece), 0),
    open: () => Readable.from(texts(), { objectMode: false }),
  };
}

function reference(source: ImageSource, uploads: Pick<UploadStore, 'pathOf'>): Piece[] {
  if ('fileId' in source) return [JSON.stringify({ file_id: source.fileId })];
  const { contentType, sizeBytes, uploadId } = source;
  return [`{"image_url":"data:${contentType};base64,`, { path: uploads.pathOf(uploadId), sizeBytes }, '"}'];
}

const lengthOf = (piece: Piece): number =>
  typeof piece === 'string' ? Buffer.byteLength(piece) : base64Length(piece.sizeBytes);

/** Texts as the members that they were in the caller's JSON, as far as that is known. */
const membersOf = (members: JsonEdit['members']): Record<string, unknown> =>
  Object.fromEntries(Object.entries(formValues(members)).map(([name, value]) => [name, structureIn(value)]));

function structureIn(value: unknown): unknown {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value;
  try {
    return parseJson(value);
  } catch {
    return value;
  }
}
