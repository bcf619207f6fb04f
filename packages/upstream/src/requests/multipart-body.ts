import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';

/** One part of a form: a text, or a file on disk. */
export type MultipartPart =
  | { readonly name: string; readonly value: string }
  | {
      readonly name: string;
      readonly path: string;
      readonly fileName: string;
      readonly contentType: string;
      readonly sizeBytes: number;
    };

/** A `multipart/form-data` body that can be sent more than once; files are read from disk each time, never kept in memory. */
export interface MultipartBody {
  /** With the boundary. */
  readonly contentType: string;
  readonly sizeBytes: number;
  readonly parts: readonly MultipartPart[];
  /** The body from its beginning. */
  open(): Readable;
}

/** Quotes and line ends would end a part's head early; browsers escape them in this way too (WHATWG HTML). */
const escaped = (name: string): string =>
  name.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22');

/** Builds a form, in the order of its parts. */
export function multipartBody(parts: readonly MultipartPart[]): MultipartBody {
  const boundary = `gateway-${randomBytes(18).toString('hex')}`;
  const end = Buffer.from(`--${boundary}--\r\n`);
  const pieces = parts.map((part) => ({ head: headOf(part, boundary), part }));
  const sizeBytes = pieces.reduce(
    (sum, { head, part }) => sum + head.length + ('path' in part ? part.sizeBytes + 2 : 0),
    end.length,
  );
  async function* bytes(): AsyncGenerator<Buffer> {
    for (const { head, part } of pieces) {
      yield head;
      if (!('path' in part)) continue;
      for await (const chunk of createReadStream(part.path)) yield chunk;
      yield Buffer.from('\r\n');
    }
    yield end;
  }
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    sizeBytes,
    parts,
    open: () => Readable.from(bytes(), { objectMode: false }),
  };
}

/** A whole text part, or a file's part up to its bytes. */
function headOf(part: MultipartPart, boundary: string): Buffer {
  const disposition = `--${boundary}\r\ncontent-disposition: form-data; name="${escaped(part.name)}"`;
  return Buffer.from(
    'path' in part
      ? `${disposition}; filename="${escaped(part.fileName)}"\r\ncontent-type: ${part.contentType}\r\n\r\n`
      : `${disposition}\r\n\r\n${part.value}\r\n`,
  );
}
