import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
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

/** By the codes of multer and of the file system. */
const PROBLEMS: Readonly<Record<string, FormProblem>> = {
  LIMIT_FILE_COUNT: {
    code: 'invalid_value',
    message: "The form has more than one file. Send exactly one, in the part 'file'.",
    path: ['file'],
  },
  LIMIT_FIELD_COUNT: {
    code: 'request_too_large',
    message: `The form has more than the ${FORM_LIMITS.fields} text parts that are accepted here.`,
  },
  LIMIT_FIELD_KEY: { code: 'request_too_large', message: "A part's name is too long." },
  LIMIT_FIELD_VALUE: tooMuchText,
  INVALID_FIELD_NAME: { code: 'malformed_request', message: "A part's name cannot be read." },
  MISSING_FIELD_NAME: { code: 'malformed_request', message: 'A part of the form has no name.' },
  ENOSPC: {
    code: 'storage_full',
    message: 'The gateway has no room for the file at the moment. Try again later.',
  },
  ECONNRESET: {
    code: 'client_closed_request',
    message: 'The connection closed before the request body was complete.',
  },
};

/** What went wrong with a form, as the caller is told. `thrown` is what multer, its parser or the disk said. */
export function formError(thrown: unknown, maxFileBytes: number): GatewayError {
  const code = memberOf(thrown, 'code');
  if (code === 'LIMIT_FILE_SIZE') {
    return new GatewayError('file_too_large', {
      path: ['file'],
      message: `Maximum content size limit (${maxFileBytes}) exceeded. Send a smaller file, or split it.`,
    });
  }
  if (code === 'LIMIT_UNEXPECTED_FILE') {
    const field = memberOf(thrown, 'field') ?? '';
    // A second file under the right name is reported under this code too.
    if (field === 'file') return toError(PROBLEMS.LIMIT_FILE_COUNT, thrown);
    return new GatewayError('unknown_parameter', {
      path: [field],
      message: `Unknown parameter: '${field}'. Send the audio in the part 'file'.`,
    });
  }
  return toError(code === undefined ? undefined : PROBLEMS[code], thrown);
}

/** Without a code it was the parser, whose sentences are about the form; file system errors always have one. */
function toError(problem: FormProblem | undefined, thrown: unknown): GatewayError {
  if (problem !== undefined) {
    const { code, message, path } = problem;
    return new GatewayError(code, { message, ...(path && { path: [...path] }), cause: thrown });
  }
  if (memberOf(thrown, 'code') !== undefined) {
    return new GatewayError('internal', { message: 'The gateway could not store the file.', cause: thrown });
  }
  if (/^Request (aborted|closed|error)$/.test(memberOf(thrown, 'message') ?? ''))
    return toError(PROBLEMS.ECONNRESET, thrown);
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
