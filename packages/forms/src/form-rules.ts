import type { ErrorCode } from '@gateway/contracts/error-codes';

/** Charsets that a text may name: UTF-8, and ASCII, which is a part of it. */
export const UTF8_NAMES: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);

/** What a caller is told whose form does not fit. */
export interface FormRefusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly path?: readonly string[];
}

/** One file part that a form may have. */
export interface FilePart {
  /** Under which the file is handed on. */
  readonly name: string;
  /** Names under which it really arrives, where they are more than `name`. */
  readonly names?: RegExp;
  /** Files under these names. */
  readonly most: number;
  readonly maxBytes: number;
  readonly tooMany: FormRefusal;
  readonly tooLarge: FormRefusal;
}

/** What one endpoint's form may hold, as data. */
export interface FormRules {
  readonly parts: readonly FilePart[];
  /** Text parts. */
  readonly fields: number;
  readonly fieldNameBytes: number;
  readonly fieldBytes: number;
  /** All text parts together. */
  readonly fieldsTotalBytes: number;
  /** For a body that is larger than all of the above together. */
  readonly tooLarge: FormRefusal;
  /** Where files belong, for callers who send one elsewhere. */
  readonly whereFilesGo: string;
  /** Another content type that the endpoint takes, read by somebody else. */
  readonly alsoTakes?: string;
}
