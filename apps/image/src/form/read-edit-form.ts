import { createWriteStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { UploadStore } from '@gateway/jobs/upload-store';
import { discardRest } from '@gateway/service-kit/discard-rest';
import { refuseEncoding } from '@gateway/service-kit/json-body';
import type { Request, Response } from 'express';
import multer from 'multer';
import { fileTooLarge, formError, tooMuchTextError, unknownPart } from './form-error.ts';
import { FORM_LIMITS } from './form-limits.ts';

/** A file of the form. It belongs to whoever read the form. */
export interface ReceivedFile {
  readonly part: 'image' | 'mask';
  readonly uploadId: string;
  /** As the caller named it. */
  readonly fileName: string;
  readonly sizeBytes: number;
}

export interface EditForm {
  /** In the order in which they came. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly ReceivedFile[];
}

/** What busboy tells of a text part; multer's own `body` loses the names' spelling and the order. */
interface FieldSource extends NodeJS.WritableStream {
  on(event: 'field', listener: (name: string | undefined, value: string) => void): this;
}

/** The names under which images really arrive: `image`, `image[]`, `image[0]`. */
const IMAGE_PART = /^image(?:\[\d*\])?$/;

const partOf = (name: string): ReceivedFile['part'] | undefined =>
  name === 'mask' ? 'mask' : IMAGE_PART.test(name) ? 'image' : undefined;

/**
 * Reads an edit's form, its parts in any order: text into memory, bounded; files to disk as they arrive. A form that is
 * refused leaves no file.
 *
 * @throws {GatewayError} for another content type, too large a file or form, unknown file parts, a broken form, a full disk
 */
export async function readEditForm(
  request: Request,
  response: Response,
  uploads: UploadStore,
): Promise<EditForm> {
  refuseEncoding(request);
  checkContentType(request.headers['content-type']);
  const fields: (readonly [string, string])[] = [];
  const files: ReceivedFile[] = [];
  const begun: string[] = [];
  const refused = Promise.withResolvers<never>();
  const storage: multer.StorageEngine = {
    _handleFile: (_request, file, callback) => {
      const part = partOf(file.fieldname) ?? 'image';
      const uploadId = uploads.newId();
      const maxBytes = part === 'mask' ? FORM_LIMITS.maskBytes : FORM_LIMITS.imageBytes;
      begun.push(uploadId);
      // multer itself says so only when the whole request has been read.
      file.stream.once('limit', () => refused.reject(fileTooLarge('image', maxBytes)));
      const target = createWriteStream(uploads.pathOf(uploadId), { flags: 'wx' });
      pipeline(file.stream, target).then(
        () => {
          const sizeBytes = target.bytesWritten;
          if (sizeBytes > maxBytes) return callback(fileTooLarge(part, maxBytes));
          files.push({ part, uploadId, fileName: file.originalname, sizeBytes });
          callback(null, { size: sizeBytes });
        },
        (error: unknown) => callback(error),
      );
    },
    _removeFile: (_request, _file, callback) => callback(null),
  };
  const options = {
    storage,
    defParamCharset: 'utf8',
    limits: {
      fileSize: FORM_LIMITS.imageBytes,
      files: FORM_LIMITS.files,
      fields: FORM_LIMITS.fields,
      fieldNameSize: FORM_LIMITS.fieldNameBytes,
      fieldSize: FORM_LIMITS.fieldBytes,
    },
    fileFilter: (
      _request: IncomingMessage,
      file: Express.Multer.File,
      callback: multer.FileFilterCallback,
    ) =>
      partOf(file.fieldname) === undefined ? callback(unknownPart(file.fieldname)) : callback(null, true),
    streamHandler: (incoming: IncomingMessage, form: FieldSource) => {
      collectFields(form, fields, () => refused.reject(tooMuchTextError()));
      incoming.pipe(form);
    },
  };
  const read = new Promise<void>((resolve, reject) => {
    multer(options).any()(request, response, (error: unknown) =>
      error === undefined ? resolve() : reject(error instanceof GatewayError ? error : formError(error)),
    );
  });
  try {
    await Promise.race([read, refused.promise]);
    return { fields, files: inOrder(files, begun) };
  } catch (error) {
    if (!request.readableEnded) discardRest(request);
    // Other files of the form may still be on their way to disk.
    const deleteAll = () => uploads.delete(...begun);
    await deleteAll();
    void read.then(deleteAll, deleteAll);
    throw error;
  }
}

/** Files are done in any order; they count in the order in which they came. */
const inOrder = (files: readonly ReceivedFile[], begun: readonly string[]): ReceivedFile[] =>
  files.toSorted((a, b) => begun.indexOf(a.uploadId) - begun.indexOf(b.uploadId));

function checkContentType(contentType: string | undefined): void {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type === 'multipart/form-data') return;
  const hint =
    type === 'application/json'
      ? ' Edits with images named in JSON are not available; send the files as parts.'
      : '';
  throw new GatewayError(
    'unsupported_content_type',
    `Unsupported content type: '${type ?? 'none'}'. This endpoint takes 'multipart/form-data'.${hint}`,
  );
}

function collectFields(form: FieldSource, fields: (readonly [string, string])[], tooMuch: () => void): void {
  let totalBytes = 0;
  form.on('field', (name, value) => {
    if (name === undefined) return;
    totalBytes += name.length + Buffer.byteLength(value);
    if (totalBytes > FORM_LIMITS.fieldsTotalBytes) tooMuch();
    // An optional part may be an empty text, which is as good as none.
    else if (value !== '') fields.push([name, value]);
  });
}
