import type { ServerResponse } from 'node:http';
import { ERRORS, type ErrorSpec } from '@gateway/contracts/error-codes';
import { type Dialect, GatewayError } from '@gateway/contracts/gateway-error';
import { nestedTooDeeply } from '@gateway/contracts/json/json-depth';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { z } from 'zod';
import type { RequestContext } from './request/request-context.ts';
import { requestIdOf } from './request/request-id.ts';

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** JSON text. */
  readonly body: string;
}

/** Turns anything thrown into an error for callers. All but a `GatewayError` become `internal`, without their cause. */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (isStackOverflow(error)) return nestedTooDeeply(error);
  return new GatewayError('internal', {
    message: {
      openai: 'The gateway had an internal error. Retry, and report the request id if it happens again.',
      anthropic: 'Internal server error',
    },
    cause: error,
  });
}

/** Only a request can be nested deeply enough to overflow the recursive functions. */
const isStackOverflow = (error: unknown): boolean =>
  error instanceof RangeError && error.message.includes('call stack');

/** Marks an internal error after work that may have been paid for as not to be retried; other errors stay as they are. */
export function withoutRetry(error: GatewayError): GatewayError {
  if (error.code !== 'internal' || !error.retry) return error;
  return new GatewayError('internal', {
    message: {
      openai:
        'The gateway had an internal error after the work had begun, so it may have been done and billed. Report the request id.',
      anthropic: 'Internal server error',
    },
    retry: false,
    cause: error.options.cause,
  });
}

/** `['input', 0, 'content']` as OpenAI writes it: `input[0].content`. */
export const openaiPath = (path: readonly (string | number)[]): string =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  );

/** The OpenAI error object, also used inside events. */
export function openaiError(error: GatewayError): {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
} {
  const { type, code } = ERRORS[error.code].openai;
  const { path } = error.options;
  return { message: messageFor(error, 'openai'), type, param: path ? openaiPath(path) : null, code };
}

const RelayedBody = z.object({
  type: z.undefined().optional(),
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullish(),
    code: z.union([z.string(), z.number()]).nullish(),
  }),
});

/** The error object in the body that a caller of OpenAI's protocol gets: the provider's own where that is relayed. */
export function shownError(error: GatewayError): ReturnType<typeof openaiError> {
  const relayed = RelayedBody.safeParse(jsonIn(error.options.relay?.body ?? '')).data?.error;
  if (relayed === undefined) return openaiError(error);
  const { message, type, param = null, code } = relayed;
  return { message, type, param, code: code === null || code === undefined ? null : String(code) };
}

/** The event for an error, as the Realtime API has it. @param eventId of the caller's event that it is about */
export function realtimeErrorEvent(error: GatewayError, eventId: string | null): string {
  const { type, code, message, param } = shownError(error);
  return JSON.stringify({
    type: 'error',
    event_id: requestIdOf(undefined).replace(/^req_/, 'event_'),
    // Clients read a code, which some errors lack over HTTP.
    error: { type, code: code ?? type, message, param, event_id: eventId },
  });
}

/** The Anthropic error object; its message begins with the path of what is wrong. */
export function anthropicError(error: GatewayError) {
  const { path } = error.options;
  const message = messageFor(error, 'anthropic');
  const spec: ErrorSpec = ERRORS[error.code];
  const { type, errorCode } = spec.anthropic;
  return {
    type,
    message: path && path.length > 0 ? `${path.join('.')}: ${message}` : message,
    ...(errorCode === undefined ? {} : { details: { error_code: errorCode } }),
  };
}

/** Google's words for a status. */
const GOOGLE_STATUS: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** The Google error object: the code of the gateway's own is the reason in its details, and clients read when to retry there. */
export function googleError(error: GatewayError) {
  const code = error.status('google');
  const { path, retryAfterSeconds } = error.options;
  const description = messageFor(error, 'openai');
  const field = path && path.length > 0 ? openaiPath(path) : null;
  return {
    code,
    message: description,
    status: GOOGLE_STATUS[code] ?? (code < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL'),
    details: [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: error.code, domain: 'gateway' },
      ...(field === null
        ? []
        : [
            {
              '@type': 'type.googleapis.com/google.rpc.BadRequest',
              fieldViolations: [{ field, description }],
            },
          ]),
      ...(retryAfterSeconds === undefined
        ? []
        : [
            {
              '@type': 'type.googleapis.com/google.rpc.RetryInfo',
              retryDelay: `${Math.ceil(retryAfterSeconds)}s`,
            },
          ]),
    ],
  };
}

function messageFor(error: GatewayError, dialect: Exclude<Dialect, 'google'>): string {
  const { message } = error.options;
  return typeof message === 'string' ? message : message[dialect];
}

/** The whole reply for an error, in the caller's dialect. Only this function writes error bodies. */
export function errorResponse(thrown: unknown, dialect: Dialect, requestId: string): ErrorResponse {
  const error = toGatewayError(thrown);
  const { relay, retryAfterSeconds } = error.options;
  return {
    status: error.status(dialect),
    headers: {
      'content-type': 'application/json',
      'x-request-id': requestId,
      'request-id': requestId,
      'x-should-retry': String(error.retry),
      'x-gateway-refused-by': error.source,
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterSeconds)) }),
      ...error.options.headers,
    },
    body: relay?.body ?? errorBody(error, dialect, requestId),
  };
}

function errorBody(error: GatewayError, dialect: Dialect, requestId: string): string {
  switch (dialect) {
    case 'openai':
      return JSON.stringify({ error: openaiError(error) });
    case 'anthropic':
      return JSON.stringify({ type: 'error', error: anthropicError(error), request_id: requestId });
    case 'google':
      return JSON.stringify({ error: googleError(error) });
  }
}

/**
 * Ends a reply with an error in the caller's dialect. After a reply has begun its connection is closed instead, so that
 * no client takes half a body for a whole one; one that has ended stays. (Event streams send their own error events.)
 */
export function writeError(
  response: ServerResponse,
  thrown: unknown,
  context: Pick<RequestContext, 'dialect' | 'requestId' | 'failure' | 'mayBePaid'>,
): void {
  const error = context.mayBePaid === true ? withoutRetry(toGatewayError(thrown)) : toGatewayError(thrown);
  context.failure = error;
  if (response.headersSent) {
    if (!response.writableEnded) response.destroy();
    return;
  }
  const { status, headers, body } = errorResponse(error, context.dialect, context.requestId);
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
