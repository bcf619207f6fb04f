import type { ErrorCode } from '@gateway/contracts/error-codes';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { lookUp } from '@gateway/contracts/look-up';
import { readProviderError } from '@gateway/upstream/failures/provider-error';
import { isTooLong } from '@gateway/upstream/failures/too-long';
import { disguised } from '@gateway/upstream/first-output/reported-error';
import { type CleanText, upstreamError } from './public-message.ts';

/** What an OpenAI error code means to us when it comes in the middle of an answer. */
const CODE_OF_CODE: Record<string, ErrorCode> = {
  rate_limit_exceeded: 'upstream_rate_limited',
  insufficient_quota: 'upstream_quota_exhausted',
  usage_not_included: 'upstream_quota_exhausted',
  server_is_overloaded: 'upstream_overloaded',
  slow_down: 'upstream_overloaded',
  context_length_exceeded: 'context_length_exceeded',
  exceed_context_size_error: 'context_length_exceeded',
  invalid_prompt: 'upstream_rejected',
  bio_policy: 'upstream_rejected',
  cyber_policy: 'upstream_rejected',
  misalignment_policy_violation: 'upstream_rejected',
  data_residency_mismatch: 'upstream_misconfigured',
  invalid_api_key: 'upstream_misconfigured',
  vector_store_timeout: 'upstream_timeout',
};

/** Codes that begin so concern an image of the caller's. */
const IMAGE_CODE = /image/;

/** Whether a code is more specific than that something failed. */
const isKnownCode = (word: string): boolean => Object.hasOwn(CODE_OF_CODE, word);

interface OpenAiError {
  readonly code?: string | number | null | undefined;
  readonly message?: string | null | undefined;
}

interface ServerError extends OpenAiError {
  readonly type?: string | null | undefined;
}

/** An error object of OpenAI's protocols, from a failed response or from the middle of a stream. */
export function decodeOpenAiError(error: OpenAiError | null | undefined, clean: CleanText): GatewayError {
  const word = String(error?.code ?? '');
  const message = error?.message ?? '';
  const code =
    lookUp(CODE_OF_CODE, word) ??
    (isTooLong(message) ? 'context_length_exceeded' : null) ??
    (IMAGE_CODE.test(word) ? 'upstream_rejected' : 'upstream_failed');
  return upstreamError(code, message, clean);
}

/** Servers send an HTTP status where OpenAI sends a word. */
const CODE_OF_STATUS: Readonly<Record<string, string>> = {
  '429': 'rate_limit_exceeded',
  '503': 'server_is_overloaded',
  '529': 'server_is_overloaded',
};

/** An error of a server like OpenAI's, from a body of status 200 or from a chunk. */
export function decodeServerError(error: ServerError | string, clean: CleanText): GatewayError {
  if (typeof error === 'string') return decodeOpenAiError({ message: error }, clean);
  const { code, type, message } = error;
  const words = [code, type].map((word) => String(word ?? ''));
  const word = words.find(isKnownCode) ?? words.find((known) => known !== '') ?? '';
  return decodeOpenAiError({ code: lookUp(CODE_OF_STATUS, word) ?? word, message }, clean);
}

/** The failure that an event reports in words of its server's own; `data` is its text. */
export function decodeFailure(data: string, clean: CleanText): GatewayError {
  const { code, type, message } = readProviderError(data);
  const status = String(disguised(data).status);
  return decodeServerError({ code: status in CODE_OF_STATUS ? status : code, type, message }, clean);
}

/** What such an event calls its failure, for the log. */
export function failureWordOf(data: string): string {
  const { code, type, message } = readProviderError(data);
  return code ?? type ?? (message === '' ? 'it gave up' : 'error');
}
