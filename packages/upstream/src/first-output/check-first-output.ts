import type { IncomingHttpHeaders } from 'node:http';
import { lookUp } from '@gateway/contracts/look-up';
import { readProviderError } from '../failures/provider-error.ts';

/** The beginning of a 2xx reply, before anything of it has reached the caller. */
export interface FirstOutput {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Everything received so far. */
  readonly bytes: Buffer;
  /** Whether that is the whole body. */
  readonly ended: boolean;
}

/** An error in a 2xx reply: treated as if the provider had answered with this status and body. */
export interface Disguised {
  readonly status: number;
  readonly body: string;
}

/** A 2xx reply that is no answer and has no error either: the provider may have done the work. */
export interface Broken {
  /** What is wrong with it, for the log. */
  readonly broken: string;
}

/** `wait`: checked again when more has arrived, or when the body has ended; `wait-for-end`: only then. */
export type Verdict = 'accept' | 'wait' | 'wait-for-end' | Disguised | Broken;
export type OutputCheck = (first: FirstOutput) => Verdict;

/** The status that an error type or code would have had outside a stream. */
const STATUS_OF: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_prompt: 400,
  context_length_exceeded: 400,
  exceed_context_size_error: 400,
  image_generation_user_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  requests: 429,
  tokens: 429,
  timeout_error: 504,
  overloaded_error: 529,
  server_is_overloaded: 503,
  slow_down: 503,
  service_unavailable_error: 503,
};

/** vLLM, llama.cpp and others send the status itself. */
const STATUS_CODE = /^[45]\d\d$/;

/** The error that a body reports, with the status that it would have had outside a stream. */
export const disguised = (body: string): Disguised => {
  const { code, type } = readProviderError(body);
  const ownStatus = lookUp(STATUS_OF, code) ?? lookUp(STATUS_OF, type);
  const status = ownStatus ?? (STATUS_CODE.test(code ?? '') ? Number(code) : 502);
  return { status, body };
};

/** Blank lines and comments, which some providers send to keep a stream alive until it begins. */
const BEFORE_EVENT = /^(?:\s|:[^\n]*\n)*/;

/** The first event's data as an error, once it has arrived whole. */
const errorEvent = (stream: string, ended: boolean): Verdict => {
  const text = stream.replace(BEFORE_EVENT, '');
  const end = /\r?\n\r?\n/.exec(text);
  if (end === null && !ended) return 'wait';
  const event = end === null ? text : text.slice(0, end.index);
  const data = event
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trimStart());
  return disguised(data.join('\n'));
};

const LOOKED_AT_BYTES = 128;
const ERROR_EVENT = /^(?:\s|:[^\n]*\n)*(?:event: ?error\b|data: ?\{"(?:type": ?"error"|error": ?[{"]))/;
const ERROR_BODY = /^\s*\{\s*"(?:error"\s*:\s*[{"]|type"\s*:\s*"error")/;

/**
 * Finds the error that some providers send with a 200: an error object for a body, an error event before any other,
 * a page of HTML, or a body that is not the JSON that its type declares. Reads a few bytes only.
 */
export const checkFirstOutput: OutputCheck = ({ headers, bytes, ended }) => {
  const type = headers['content-type'] ?? '';
  const start = bytes.toString('latin1', 0, LOOKED_AT_BYTES);
  if (type.startsWith('text/event-stream')) {
    return ERROR_EVENT.test(start) ? errorEvent(bytes.toString('utf8'), ended) : 'accept';
  }
  if (type.startsWith('application/json')) {
    if (ERROR_BODY.test(start)) return ended ? disguised(bytes.toString('utf8')) : 'wait';
    return /^\s*(?:[[{"]|$)/.test(start)
      ? 'accept'
      : { broken: 'the reply is not the JSON that it claims to be' };
  }
  return type.startsWith('text/html') ? { broken: 'the reply is a page of HTML' } : 'accept';
};
