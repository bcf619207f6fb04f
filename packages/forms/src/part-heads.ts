import { isAscii, isUtf8 } from 'node:buffer';
import { Transform, type TransformCallback } from 'node:stream';
import { notUtf8 } from './form-error.ts';
import { type FormRefusal, UTF8_NAMES } from './form-rules.ts';

const [LINE, HEAD_END] = ['\r\n', '\r\n\r\n'];
/** The parser refuses a longer one. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Charsets of names of files (RFC 8187, 3.2.1), besides those of texts. */
const FILE_NAME_CHARSETS = new Set([...UTF8_NAMES, 'iso-8859-1']);

/** To the end if the quote is not closed, so that no text is searched twice. */
const QUOTED = /"(?:[^"\\]|\\[\s\S]?)*(?:"|$)/g;
const CONTENT_TYPE = /^content-type:.*$/gim;
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;
const EXTENDED_NAME = /;\s*(?:file)?name\*\s*=\s*([^';]*)/i;
const FILE_NAME = /;\s*filename\*?\s*=/i;
/** What is a file although it has no name. */
const FILE_TYPE = /^content-type:\s*(?:audio\/|video\/|image\/|application\/(?:octet-stream|ogg|mp4)\b)/im;
const DISPOSITION = /^content-disposition:.*$/im;

const boundaryOf = (contentType: string): string | undefined => {
  const [, quoted, plain] = /boundary\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(contentType) ?? [];
  return quoted ?? plain;
};

/**
 * The type of a form with its boundary in quotes. Clients that write their own leave them out although the boundary has signs
 * that need them, such as `=`; the parser would find no form then.
 */
export function quotedType(contentType: string): string {
  const boundary = boundaryOf(contentType);
  return boundary === undefined || boundary === '' || boundary.includes('\\')
    ? contentType
    : `multipart/form-data; boundary="${boundary}"`;
}

/** Before the name of a charset, in the type of a text part on its way through the parser. */
const CHARSET_TYPE = 'text/x-charset-';

/** The text of a part from the parser, by the type that the parser reports. A refusal: it cannot be read. */
export function textOf(name: string, bytes: Buffer, mimeType: string | undefined): string | FormRefusal {
  const charset = mimeType?.startsWith(CHARSET_TYPE) ? mimeType.slice(CHARSET_TYPE.length) : undefined;
  if (charset === undefined || isAscii(bytes)) return isUtf8(bytes) ? bytes.toString() : notUtf8(name);
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return unknownCharset('a text part', charset);
  }
}

/**
 * Reads the head of each part before the parser of the form. The parser decodes a text part by the charset that the part
 * names, gives nothing for a charset that it does not have, and replaces invalid text. So a part that names another
 * charset than UTF-8 reaches the parser as one of a type that names it (`textOf`): every part is passed on as bytes. A file
 * without a name gets one, since the parser takes it for a text or leaves it out.
 */
export class PartHeads extends Transform {
  readonly #delimiter: Buffer;
  readonly #refuse: (refusal: FormRefusal) => void;
  #held: Buffer = Buffer.alloc(0);
  #state: 'begin' | 'body' | 'head' | 'end' = 'begin';

  constructor(contentType: string, refuse: (refusal: FormRefusal) => void) {
    super();
    this.#delimiter = Buffer.from(`${LINE}--${boundaryOf(contentType) ?? ''}`, 'latin1');
    this.#refuse = refuse;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (let next = this.#step(rest); next !== null; next = this.#step(rest)) rest = next;
    this.#held = rest;
    done();
  }

  override _flush(done: TransformCallback): void {
    this.push(this.#held);
    done();
  }

  /** Passes on the complete parts of the bytes. Returns the rest; null if more bytes are needed first. */
  #step(bytes: Buffer): Buffer | null {
    switch (this.#state) {
      case 'begin': {
        // The first delimiter needs no line before it.
        const first = this.#delimiter.subarray(LINE.length);
        if (bytes.length < first.length) return null;
        const isFirst = bytes.subarray(0, first.length).equals(first);
        return this.#pass(bytes, isFirst ? first.length : 0, isFirst ? 'head' : 'body');
      }
      case 'body': {
        const at = bytes.indexOf(this.#delimiter);
        if (at !== -1) return this.#pass(bytes, at + this.#delimiter.length, 'head');
        const passed = bytes.length - this.#delimiter.length + 1;
        return passed > 0 ? this.#pass(bytes, passed, 'body') : null;
      }
      case 'head': {
        if (bytes.length < 2) return null;
        if (bytes.toString('latin1', 0, 2) === '--') return this.#pass(bytes, bytes.length, 'end');
        const end = bytes.indexOf(HEAD_END);
        if (end === -1) return bytes.length > MAX_HEAD_BYTES ? this.#pass(bytes, bytes.length, 'end') : null;
        this.push(Buffer.from(this.#checked(bytes.toString('latin1', 0, end)), 'latin1'));
        return this.#pass(bytes.subarray(end), LINE.length, 'body');
      }
      case 'end':
        return bytes.length === 0 ? null : this.#pass(bytes, bytes.length, 'end');
    }
  }

  #pass(bytes: Buffer, length: number, next: 'body' | 'head' | 'end'): Buffer {
    this.#state = next;
    if (length > 0) this.push(bytes.subarray(0, length));
    return bytes.subarray(length);
  }

  /** A head without charsets. `head` is Latin-1: a character for each byte. */
  #checked(head: string): string {
    const unfolded = head.replace(/\r\n[ \t]+/g, ' ');
    const bare = unfolded.replace(QUOTED, (quoted) => (quoted.includes(';') ? '""' : quoted));
    const fileNameCharset = EXTENDED_NAME.exec(bare)?.[1]?.trim().toLowerCase();
    if (fileNameCharset !== undefined && !FILE_NAME_CHARSETS.has(fileNameCharset))
      this.#refuse(unknownCharset('the name of a part or of a file', fileNameCharset));
    const isNameless = FILE_TYPE.test(bare) && !FILE_NAME.test(bare);
    const isText = !isNameless && !FILE_NAME.test(bare);
    const named = isNameless
      ? unfolded.replace(DISPOSITION, (line) => `${line.trimEnd()}; filename="blob"`)
      : unfolded;
    return named.replace(CONTENT_TYPE, (line) => {
      const charset = CHARSET.exec(line)?.[1]?.toLowerCase();
      if (!isText || charset === undefined || UTF8_NAMES.has(charset))
        return line.replace(/charset/gi, 'ignored');
      return `content-type: ${CHARSET_TYPE}${TOKEN.test(charset) ? charset : 'unknown'}`;
    });
  }
}

const TOKEN = /^[\w.:-]{1,40}$/;

const unknownCharset = (what: string, charset: string): FormRefusal => ({
  code: 'unsupported_content_type',
  message: `Unsupported charset of ${what}: '${charset.slice(0, 64)}'. Send the form in UTF-8.`,
});
