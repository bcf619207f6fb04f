import type { ErrorCode } from '@gateway/contracts/error-codes';

/** Charsets that a text may name: UTF-8, and its subset ASCII. */
export const UTF8_NAMES: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);

/** The error for a form that breaks a rule. */
export interface FormRefusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly path?: readonly string[];
}

/** One file part that a form may have. */
export interface FilePart {
  /** The name of the file for the reader of the form. */
  readonly name: string;
  /** Names in the request, if there are more than `name`. */
  readonly names?: RegExp;
  /** The most files under these names. */
  readonly most: number;
  readonly maxBytes: number;
  readonly tooMany: FormRefusal;
  readonly tooLarge: FormRefusal;
}

/** The rules of one endpoint's form. */
export interface FormRules {
  readonly parts: readonly FilePart[];
  /** Text parts. */
  readonly fields: number;
  readonly fieldNameBytes: number;
  readonly fieldBytes: number;
  /** All text parts together. */
  readonly fieldsTotalBytes: number;
  /** The error for a body that is larger than all bounds together. */
  readonly tooLarge: FormRefusal;
  /** The parts for files, for callers who use another one. */
  readonly whereFilesGo: string;
  /** Another content type that the endpoint takes, read by somebody else. */
  readonly alsoTakes?: string;
}
