import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { toStorageError } from '@gateway/jobs/file-area';
import { FORM_LIMITS } from './form-limits.ts';

interface FormProblem {
  readonly code: ErrorCode;
  readonly message: string;
  readonly path?: readonly string[];
}

const tooMuchText: FormProblem = {
  code: 'request_too_large',
  message: `The form's text parts are too large. One may have ${FORM_LIMITS.fieldBytes} bytes, all together ${FORM_LIMITS.fieldsTotalBytes}.`,
};

/** By the codes of multer. */
const PROBLEMS: Readonly<Record<string, FormProblem>> = {
  LIMIT_FILE_COUNT: {
    code: 'array_above_max_length',
    message: `Invalid 'image': array too long. Expected an array with maximum length ${FORM_LIMITS.files - 1}, but got more.`,
    path: ['image'],
  },
  LIMIT_FIELD_COUNT: {
    code: 'request_too_large',
    message: `The form has more than the ${FORM_LIMITS.fields} text parts that are accepted here.`,
  },
  LIMIT_FIELD_KEY: { code: 'request_too_large', message: "A part's name is too long." },
  LIMIT_FIELD_VALUE: tooMuchText,
  MISSING_FIELD_NAME: { code: 'malformed_request', message: 'A part of the form has no name.' },
  INVALID_FIELD_NAME: { code: 'malformed_request', message: "A part's name cannot be read." },
};

export const tooMuchTextError = (): GatewayError => new GatewayError(tooMuchText.code, tooMuchText.message);

export const fileTooLarge = (part: 'image' | 'mask', maxBytes: number): GatewayError =>
  new GatewayError('file_too_large', {
    path: [part],
    message: `The file in '${part}' is too large. It may have at most ${maxBytes / (1024 * 1024)} MB.`,
  });

export const unknownPart = (name: string): GatewayError =>
  new GatewayError('unknown_parameter', {
    path: [name],
    message: `Unknown parameter: '${name}'. Send images in the part 'image' or 'image[]', and a mask in 'mask'.`,
  });

/** What went wrong with a form, as the caller is told. `thrown` is what multer, its parser or the disk said. */
export function formError(thrown: unknown): GatewayError {
  const stored = toStorageError(thrown);
  if (stored instanceof GatewayError) return stored;
  const code = memberOf(thrown, 'code');
  const problem = code === undefined ? undefined : PROBLEMS[code];
  if (problem !== undefined) {
    const { message, path } = problem;
    return new GatewayError(problem.code, { message, ...(path && { path: [...path] }), cause: thrown });
  }
  if (code === 'ECONNRESET' || /^Request (?:aborted|closed|error)$/.test(memberOf(thrown, 'message') ?? ''))
    return new GatewayError('client_closed_request', {
      message: 'The connection closed before the request body was complete.',
      cause: thrown,
    });
  // Without a code it was the parser, whose sentences are about the form; file system errors always have one.
  if (code !== undefined)
    return new GatewayError('internal', { message: 'The gateway could not store the file.', cause: thrown });
  return new GatewayError('malformed_request', {
    message: 'We could not parse the multipart form of your request. It is broken or ends too early.',
    cause: thrown,
  });
}

function memberOf(thrown: unknown, name: string): string | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const value: unknown = Reflect.get(thrown, name);
  return typeof value === 'string' ? value : undefined;
}
