import { createWriteStream } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import multer from 'multer';
import { brokenOff, formError, notUtf8, refusalError, tooMuchText, unknownPart } from './form-error.ts';
import { type FilePart, type FormRefusal, type FormRules, UTF8_NAMES } from './form-rules.ts';
import { PartHeads, quotedType, textOf } from './part-heads.ts';
import { plainFileName } from './plain-file-name.ts';

/** A file of the form. It belongs to the reader of the form. */
export interface ReceivedFile {
  /** The name of its `FilePart`. */
  readonly part: string;
  /** Names it in the upload area. */
  readonly uploadId: string;
  /** The caller's name for it, as plain text. */
  readonly fileName: string;
  readonly sizeBytes: number;
}

/** One text part, by its name. */
export type FormField = readonly [name: string, value: string];

export interface ReceivedForm {
  /** In the order in which they came. */
  readonly fields: readonly FormField[];
  /** In the order in which they came. */
  readonly files: readonly ReceivedFile[];
}

interface ReadFormOptions {
  readonly rules: FormRules;
  /** Where files are written. */
  readonly uploads: {
    newId(): string;
    pathOf(uploadId: string): string;
    delete(...uploadIds: string[]): Promise<void>;
  };
  /** Reads the rest of a refused body, so that a client that is still writing gets to read the refusal. */
  readonly discardRest: (request: IncomingMessage) => void;
}

/**
 * Reads a multipart form whose parts may come in any order: text into memory, bounded; files to disk as they arrive.
 * A form that is too large is refused at once, without waiting for the rest of the body, and a form that is
 * refused leaves no file.
 *
 * @throws {GatewayError} for another content type, too large a file or form, files under other names, text that is not
 * UTF-8, a broken form, a full disk
 */
export async function readForm(
  request: IncomingMessage,
  response: ServerResponse,
  { rules, uploads, discardRest }: ReadFormOptions,
): Promise<ReceivedForm> {
  try {
    checkHead(request, rules);
  } catch (error) {
    discardRest(request);
    throw error;
  }
  request.headers['content-type'] = quotedType(request.headers['content-type'] ?? '');
  const fields: FormField[] = [];
  const files = new Map<string, ReceivedFile>();
  const begun: { uploadId: string; part: FilePart; written: Promise<number> }[] = [];
  // multer reports an error only when the whole request has been read, which may never happen.
  const refused = Promise.withResolvers<never>();
  const refuse = (refusal: FormRefusal): GatewayError => {
    const error = refusalError(refusal);
    refused.reject(error);
    return error;
  };
  let parsers: { readonly heads: PartHeads; readonly form: Writable } | undefined;

  const storage: multer.StorageEngine = {
    _handleFile: (_request, file, callback) => {
      const part = partOf(rules, file.fieldname);
      if (part === undefined) return callback(refusalError(unknownPart(file.fieldname, rules)));
      const uploadId = uploads.newId();
      const tooLarge = () => refuse(part.tooLarge);
      const path = uploads.pathOf(uploadId);
      const written = storeFile(file.stream, { path, maxBytes: part.maxBytes, tooLarge });
      begun.push({ uploadId, part, written });
      written.then(
        (size) => {
          files.set(uploadId, {
            part: part.name,
            uploadId,
            fileName: plainFileName(file.originalname),
            sizeBytes: size,
          });
          callback(null, { size });
        },
        (error: unknown) => callback(error),
      );
    },
    _removeFile: (_request, _file, callback) => callback(null),
  };
  const options = {
    storage,
    defParamCharset: 'utf8',
    // As bytes, a character each, so that the UTF-8 check sees them.
    defCharset: 'latin1',
    limits: {
      fields: rules.fields,
      fieldNameSize: rules.fieldNameBytes,
      fieldSize: rules.fieldBytes,
    },
    fileFilter: (
      _request: IncomingMessage,
      { fieldname }: Express.Multer.File,
      callback: multer.FileFilterCallback,
    ) => {
      const part = partOf(rules, fieldname);
      const count = begun.filter((one) => one.part === part).length;
      if (part !== undefined && count < part.most) return callback(null, true);
      callback(refusalError(part === undefined ? unknownPart(fieldname, rules) : part.tooMany));
    },
    streamHandler: (incoming: IncomingMessage, form: Writable) => {
      const heads = new PartHeads(incoming.headers['content-type'] ?? '', refuse);
      parsers = { heads, form };
      collectFields(form, fields, rules, refuse);
      countBytes(incoming, largestBody(rules), () => refuse(rules.tooLarge));
      incoming.pipe(heads).pipe(form);
    },
  };
  const read = new Promise<void>((resolve, reject) => {
    request.once('error', () => refuse(brokenOff));
    const done = (error: unknown) => (error === undefined ? resolve() : reject(formError(error, rules)));
    // It reads any request; its types know Express's only.
    Reflect.apply(multer(options).any(), undefined, [request, response, done]);
  });
  try {
    await Promise.race([read, refused.promise]);
  } catch (error) {
    // A parser that is destroyed ends the files that are still being written.
    if (parsers) request.unpipe(parsers.heads);
    parsers?.heads.destroy();
    parsers?.form.destroy(new Error('the form is refused'));
    if (!request.readableEnded) discardRest(request);
    const deleteAll = () => uploads.delete(...begun.map(({ uploadId }) => uploadId));
    await deleteAll();
    // A file whose writing had just begun may appear only now: for a caller who leaves, multer does not wait for it.
    void Promise.allSettled(begun.map(({ written }) => written)).then(deleteAll);
    throw error;
  }
  return { fields, files: begun.flatMap(({ uploadId }) => files.get(uploadId) ?? []) };
}

const partOf = ({ parts }: FormRules, fieldName: string): FilePart | undefined =>
  parts.find(({ name, names }) => names?.test(fieldName) ?? name === fieldName);

function countBytes(incoming: IncomingMessage, most: number, tooMuch: () => void): void {
  let sizeBytes = 0;
  incoming.on('data', (chunk: Buffer) => {
    sizeBytes += chunk.length;
    if (sizeBytes > most && sizeBytes - chunk.length <= most) tooMuch();
  });
}

/** The part that declares the charset of a form's texts (RFC 7578, 4.6). Not for providers. */
const CHARSET_FIELD = '_charset_';

interface FieldInfo {
  readonly mimeType?: string;
}

/** Collects text parts from the parser; multer's own `body` loses the names' spelling and the order. */
function collectFields(
  form: Writable,
  fields: FormField[],
  rules: FormRules,
  refuse: (refusal: FormRefusal) => void,
): void {
  let totalBytes = 0;
  form.on('field', (name: string | undefined, value: string | undefined, info: FieldInfo | undefined) => {
    if (name === undefined) return;
    const bytes = Buffer.from(value ?? '', 'latin1');
    totalBytes += Buffer.byteLength(name) + bytes.length;
    const text = textOf(name, bytes, info?.mimeType);
    if (totalBytes > rules.fieldsTotalBytes) refuse(tooMuchText(rules));
    else if (value === undefined) refuse(notUtf8(name));
    else if (typeof text !== 'string') refuse(text);
    else if (name !== CHARSET_FIELD) fields.push([name, text]);
    else if (!UTF8_NAMES.has(text.trim().toLowerCase())) refuse(notUtf8(name));
  });
}

/** Space for boundaries and the heads of parts. */
const FRAMING_BYTES = 128 * 1024;

/** The largest body that can hold a form of these rules. */
const largestBody = ({ parts, fieldsTotalBytes }: FormRules): number =>
  parts.reduce((sum, { most, maxBytes }) => sum + most * maxBytes, fieldsTotalBytes + FRAMING_BYTES);

/** Refuses by the headers alone a body that is not a form, or is too large. @throws {GatewayError} */
function checkHead({ headers }: IncomingMessage, rules: FormRules): void {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'multipart/form-data') {
    const also = rules.alsoTakes === undefined ? '' : ` or '${rules.alsoTakes}'`;
    throw new GatewayError(
      'unsupported_content_type',
      `Unsupported content type: '${type ?? 'none'}'. This endpoint takes 'multipart/form-data'${also}.`,
    );
  }
  if (Number(headers['content-length'] ?? 0) > largestBody(rules)) throw refusalError(rules.tooLarge);
}

interface StoreOptions {
  readonly path: string;
  readonly maxBytes: number;
  readonly tooLarge: () => Error;
}

/** Writes a file as it arrives. Rejects with `tooLarge()` at the first byte beyond the bound. Resolves to its size in bytes. */
async function storeFile(source: Readable, { path, maxBytes, tooLarge }: StoreOptions): Promise<number> {
  let sizeBytes = 0;
  async function* bounded(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw tooLarge();
      yield chunk;
    }
  }
  await pipeline(source, bounded, createWriteStream(path, { flags: 'wx' }));
  return sizeBytes;
}
