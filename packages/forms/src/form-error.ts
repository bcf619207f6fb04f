import { GatewayError } from '@gateway/contracts/gateway-error';
import { lookUp } from '@gateway/contracts/look-up';
import type { FormRefusal, FormRules } from './form-rules.ts';

export const refusalError = ({ code, message, path }: FormRefusal, cause?: unknown): GatewayError =>
  new GatewayError(code, { message, ...(path && { path: [...path] }), cause });

export const tooMuchText = ({ fieldBytes, fieldsTotalBytes }: FormRules): FormRefusal => ({
  code: 'request_too_large',
  message: `The form's text parts are too large. One may have ${fieldBytes} bytes, all together ${fieldsTotalBytes}.`,
});

export const unknownPart = (name: string, { whereFilesGo }: FormRules): FormRefusal => ({
  code: 'unknown_parameter',
  path: [name],
  message: `Unknown parameter: '${name}'. ${whereFilesGo}`,
});

export const notUtf8 = (name: string): FormRefusal => ({
  code: 'malformed_request',
  path: [name],
  message: `The text part '${name.slice(0, 64)}' is not UTF-8. Send the form in UTF-8.`,
});

const noSpace: FormRefusal = {
  code: 'storage_full',
  message: 'The gateway has no space for the file at the moment. Try again later.',
};

export const brokenOff: FormRefusal = {
  code: 'client_closed_request',
  message: 'The connection closed before the request body was complete.',
};

const RETRY_AFTER_SECONDS = 5;

/** The folder is read-only, has no rights or is broken: nothing that the caller did, and an operator can correct it. */
const notStored = (cause: unknown): GatewayError =>
  new GatewayError('service_unavailable', {
    message: `The gateway cannot store files at the moment. Please try again in ${RETRY_AFTER_SECONDS}s.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });

/** By the codes of multer and of the file system. */
const PROBLEMS: Readonly<Record<string, (rules: FormRules) => FormRefusal>> = {
  LIMIT_FIELD_COUNT: ({ fields }) => ({
    code: 'request_too_large',
    message: `The form has more than the ${fields} text parts that are accepted here.`,
  }),
  LIMIT_FIELD_KEY: () => ({ code: 'request_too_large', message: "A part's name is too long." }),
  LIMIT_FIELD_VALUE: tooMuchText,
  MISSING_FIELD_NAME: () => ({ code: 'malformed_request', message: 'A part of the form has no name.' }),
  INVALID_FIELD_NAME: () => ({ code: 'malformed_request', message: "A part's name cannot be read." }),
  ENOSPC: () => noSpace,
  EDQUOT: () => noSpace,
  ECONNRESET: () => brokenOff,
};

/** The caller's error for a form. `thrown` is an error of multer, its parser or the disk. */
export function formError(thrown: unknown, rules: FormRules): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const code = memberOf(thrown, 'code');
  const problem = lookUp(PROBLEMS, code);
  if (problem !== undefined) return refusalError(problem(rules), thrown);
  // An error without a code is the parser's, about the form; file system errors always have one.
  if (code !== undefined) return notStored(thrown);
  if (/^Request (?:aborted|closed|error)$/.test(memberOf(thrown, 'message') ?? ''))
    return refusalError(brokenOff, thrown);
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
