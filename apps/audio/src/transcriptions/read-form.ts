import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { UploadStore } from '@gateway/jobs/upload-store';
import { discardRest } from '@gateway/service-kit/discard-rest';
import { refuseEncoding } from '@gateway/service-kit/json-body';
import type { Request, Response } from 'express';
import multer from 'multer';
import { formError } from './form-error.ts';
import { FORM_LIMITS } from './form-limits.ts';

/** One text part, by the name that it came under. */
export type FormPart = readonly [name: string, value: string];

export interface UploadedFile {
  /** Names it in the uploads area. It belongs to the caller of `readForm` once the form has been read. */
  readonly uploadId: string;
  /** As the caller sent it. */
  readonly name: string;
  readonly sizeBytes: number;
}

export interface UploadedForm {
  /** In the order in which they came. */
  readonly parts: readonly FormPart[];
  readonly file: UploadedFile | undefined;
}

interface ReadFormOptions {
  readonly uploads: Pick<UploadStore, 'folder' | 'newId'>;
  readonly maxFileBytes: number;
}

/**
 * Reads a multipart form whose parts may come in any order: text into memory, bounded; the file to disk as it arrives.
 * A form that is refused leaves no file.
 *
 * @throws {GatewayError} for another content type, too large a file or form, a file part of another name, a broken form
 */
export async function readForm(
  request: Request,
  response: Response,
  { uploads, maxFileBytes }: ReadFormOptions,
): Promise<UploadedForm> {
  refuseEncoding(request);
  checkContentType(request.headers['content-type']);
  const parts: FormPart[] = [];
  const tooLarge = () => formError({ code: 'LIMIT_FILE_SIZE' }, maxFileBytes);
  // multer says what is wrong only when the whole request has been read, whose end need not come.
  const refused = Promise.withResolvers<never>();
  let parser: Writable | undefined;
  const largest = maxFileBytes + FORM_LIMITS.fieldsTotalBytes + FORM_LIMITS.framingBytes;
  if (Number(request.headers['content-length'] ?? 0) > largest) {
    discardRest(request);
    throw tooLarge();
  }
  const disk = multer.diskStorage({
    destination: uploads.folder,
    filename: (_request, _file, callback) => callback(null, uploads.newId()),
  });
  const storage: multer.StorageEngine = {
    _handleFile: (incoming, file, callback) => {
      file.stream.once('limit', () => refused.reject(tooLarge()));
      disk._handleFile(incoming, file, callback);
    },
    _removeFile: (incoming, file, callback) => disk._removeFile(incoming, file, callback),
  };
  const options = {
    storage,
    defParamCharset: 'utf8',
    limits: {
      fileSize: maxFileBytes,
      files: 1,
      fields: FORM_LIMITS.fields,
      fieldNameSize: FORM_LIMITS.fieldNameBytes,
      fieldSize: FORM_LIMITS.fieldBytes,
    },
    streamHandler: (incoming: IncomingMessage, form: Writable) => {
      parser = form;
      const tooMuchText = () => refused.reject(formError({ code: 'LIMIT_FIELD_VALUE' }, maxFileBytes));
      collectParts(form, parts, tooMuchText);
      countBytes(incoming, largest, () => refused.reject(tooLarge()));
      incoming.pipe(form);
    },
  };
  const read = new Promise<void>((resolve, reject) => {
    multer(options).single('file')(request, response, (error: unknown) =>
      error === undefined ? resolve() : reject(formError(error, maxFileBytes)),
    );
  });
  try {
    await Promise.race([read, refused.promise]);
  } catch (error) {
    // A parser that breaks off makes multer remove what it has written.
    if (parser) request.unpipe(parser);
    parser?.destroy(new Error('the form is refused'));
    if (!request.readableEnded) discardRest(request);
    read.then(() => removeFile(request)).catch(() => undefined);
    throw error;
  }
  const { file } = request;
  return {
    parts,
    file: file && { uploadId: file.filename, name: file.originalname, sizeBytes: file.size },
  };
}

const removeFile = async ({ file }: Request): Promise<void> => {
  if (file) await rm(file.path, { force: true });
};

function checkContentType(contentType: string | undefined): void {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type === 'multipart/form-data') return;
  throw new GatewayError(
    'unsupported_content_type',
    `Unsupported content type: '${type ?? 'none'}'. This endpoint takes 'multipart/form-data'.`,
  );
}

function countBytes(incoming: IncomingMessage, most: number, tooMuch: () => void): void {
  let sizeBytes = 0;
  incoming.on('data', (chunk: Buffer) => {
    sizeBytes += chunk.length;
    if (sizeBytes > most && sizeBytes - chunk.length <= most) tooMuch();
  });
}

/** Hears of text parts from the parser; multer's own `body` loses the names' spelling and the order. */
function collectParts(form: Writable, parts: FormPart[], tooMuch: () => void): void {
  let totalBytes = 0;
  form.on('field', (name: string | undefined, value: string) => {
    if (name === undefined) return;
    totalBytes += value.length;
    if (totalBytes > FORM_LIMITS.fieldsTotalBytes) tooMuch();
    else parts.push([name, value]);
  });
}
