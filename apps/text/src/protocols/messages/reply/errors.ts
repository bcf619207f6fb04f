import type { ErrorCode } from '@gateway/contracts/error-codes';
import { namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { lookUp } from '@gateway/contracts/look-up';
import { anthropicError } from '@gateway/service-kit/error-response';

import { notFoundFault } from '@gateway/upstream/failures/not-found';
import { isTooLong } from '@gateway/upstream/failures/too-long';

import { type JsonObject, objectAt, textAt } from '../../../wire/json-object.ts';
import { type CleanText, upstreamError } from '../../../wire/public-message.ts';

/** What an Anthropic error type means to us. What concerns the gateway's own account is a misconfiguration. */
const CODE_OF_TYPE: Record<string, ErrorCode> = {
  invalid_request_error: 'upstream_rejected',
  request_too_large: 'upstream_rejected',
  authentication_error: 'upstream_misconfigured',
  permission_error: 'upstream_misconfigured',
  not_found_error: 'upstream_misconfigured',
  billing_error: 'upstream_quota_exhausted',
  rate_limit_error: 'upstream_rate_limited',
  overloaded_error: 'upstream_overloaded',
  timeout_error: 'upstream_timeout',
  api_error: 'upstream_failed',
};

/** An `error` object of the Messages protocol, from a body or from the middle of a stream. */
export function decodeMessagesError(
  error:
    | { readonly type?: string | null | undefined; readonly message?: string | null | undefined }
    | undefined,
  clean: CleanText,
): GatewayError {
  const message = error?.message ?? '';
  const code = isTooLong(message)
    ? 'context_length_exceeded'
    : error?.type === 'not_found_error' && isOfCaller(message)
      ? 'object_not_found'
      : (lookUp(CODE_OF_TYPE, error?.type) ?? 'upstream_failed');
  return upstreamError(code, message, clean);
}

/** Whether what is missing is something that the request names, as with a 404. */
const isOfCaller = (message: string): boolean =>
  notFoundFault(
    {
      code: null,
      type: 'not_found_error',
      param: null,
      detail: null,
      retryDelay: null,
      tokens: null,
      message,
    },
    '',
  ) === 'caller';

/** What the upstream's own `error` event calls its failure. */
export function errorTypeOf(event: JsonObject): string | null {
  const error = objectAt(event, 'error');
  return error && textAt(error, 'type');
}

/** The `error` event that ends a Messages stream which broke. */
export const errorFrame = (error: GatewayError, requestId: string | undefined): string =>
  namedFrame({
    type: 'error',
    error: anthropicError(error),
    ...(requestId === undefined ? {} : { request_id: requestId }),
  });
